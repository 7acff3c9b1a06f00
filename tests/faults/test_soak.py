"""`make soak`, for two minutes."""

import pytest

from tests.faults import soak


@pytest.mark.long
@pytest.mark.xdist_group("faults")
def test_a_campaign_under_random_faults_ends_with_the_dataset_of_a_clean_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["soak", "--minutes", "2", "--seed", "1"])
    assert soak.main() == 0
