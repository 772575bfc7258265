"""Where models compute."""

from __future__ import annotations

import logging

import pytest
import torch

from treeformers.training import device
from treeformers.training.device import choose_device, use_device


@pytest.mark.parametrize("name", ["owl", "cuda:99", "mps:3x", "meta"])
def test_devices_that_are_not_here(name: str) -> None:
    for ask in (choose_device, use_device):
        with pytest.raises(ValueError, match=f"^device '{name}': not here, expected .*cpu$"):
            ask(name)


def test_the_default_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_available", lambda: ["mps", "cpu"])
    assert choose_device() == torch.device("mps")
    use_device("cpu")
    try:
        assert choose_device() == torch.device("cpu") and choose_device("mps") == torch.device("mps")
    finally:
        use_device(None)
    assert choose_device() == torch.device("mps")


def test_a_device_is_said_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(device, "_available", lambda: ["mps", "cpu"])
    device._say.cache_clear()
    with caplog.at_level(logging.INFO, "treeformers"):
        choose_device("cpu")
        assert caplog.messages == []
        choose_device()
        choose_device("mps")
    assert caplog.messages == ["models compute on mps"]
