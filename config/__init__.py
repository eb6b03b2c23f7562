"""What a command runs with: settings from a TOML file and from the environment."""

from config.loading import load_settings, prepare_data_dir
from config.settings import ConfigError, Settings

__all__ = ["ConfigError", "Settings", "load_settings", "prepare_data_dir"]
