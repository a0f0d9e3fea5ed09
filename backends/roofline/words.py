"""What reports for people say of the roofline."""

from npuc.compiler.report.text.words import Words

WORDS = Words(bound="whatever the cache keeps", larger_memory="a larger cache (--set memory.cache_mib=N)")
