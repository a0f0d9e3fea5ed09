# What a contributor runs, inside the development environment (see CONTRIBUTING.md).
.PHONY: help test fast lint types docs golden coverage bench history

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

test: ## the whole suite, on all cores
	pytest -n auto

fast: ## the part of the suite that takes under a minute, with few random examples
	pytest -m fast -n 2 --examples dev

lint: ## ruff: rules and format
	ruff check .
	ruff format --check .

types: ## pyright, on the tree laid out as the installed package
	.ci/types

docs: ## the tests of the documentation
	pytest -n auto tests/docs

golden: ## write pages, tables and the schema of reports anew, and run their tests
	pytest --update-golden tests/docs tests/unit/report

coverage: ## how much of the code the unit tests run (pip install -e ".[coverage]")
	pytest -n auto --cov=npuc --cov-report=term:skip-covered tests/unit

bench: ## times as ratios to xDSL's own work
	pytest benchmarks

history: ## what commands take, beside a yardstick; kept in benchmarks/history.jsonl
	python -m benchmarks.history
