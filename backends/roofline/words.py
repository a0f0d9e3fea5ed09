"""The sentences on the roofline in reports for people."""

from npuc.compiler.report.text.words import Words

WORDS = Words(bound="whatever the cache keeps", larger_memory="a larger cache (--set memory.cache_mib=N)")
