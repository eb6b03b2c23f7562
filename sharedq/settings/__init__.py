"""Settings from a TOML file and from the environment."""

from sharedq.settings.loader import load_settings, prepare_data_dir
from sharedq.settings.values import ConfigError, Settings

__all__ = ["ConfigError", "Settings", "load_settings", "prepare_data_dir"]
