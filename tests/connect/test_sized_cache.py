from __future__ import annotations

from headrace.connect.sized_cache import SizedCache


def test_the_least_recently_used_values_go_when_the_bytes_are_too_many() -> None:
    cache: SizedCache[str, int] = SizedCache(100)
    for number, name in enumerate("abc"):
        cache.put(name, number, 30)
    assert cache.get("a") == 0
    cache.put("d", 3, 30)
    assert [cache.get(name) for name in "abcd"] == [0, None, 2, 3]
    assert cache.size == 90


def test_a_value_put_again_counts_once_and_a_value_beyond_the_limit_is_the_only_one() -> None:
    cache: SizedCache[str, int] = SizedCache(100)
    cache.put("a", 1, 60)
    cache.put("a", 2, 70)
    assert (cache.get("a"), cache.size, len(cache)) == (2, 70, 1)
    cache.put("b", 3, 1000)
    assert (cache.get("a"), cache.get("b"), cache.size) == (None, 3, 1000)


def test_a_missing_value_is_made_and_the_one_used_longest_ago_goes() -> None:
    cache: SizedCache[str, str] = SizedCache(2)
    cached = [cache.of(key, lambda key=key: f"{key}{len(cache)}") for key in "abacab"]
    assert cached == ["a0", "b1", "a0", "c2", "a0", "b2"]
