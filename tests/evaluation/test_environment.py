import pytest

from pytracking.evaluation import environment
from pytracking.evaluation.environment import ConfigError, EnvSettings, MissingPathError, apply_flags, env_settings


@pytest.fixture
def local_file(tmp_path, monkeypatch):
    path = tmp_path / "local.py"
    monkeypatch.setattr(environment, "LOCAL_FILE", path)
    return path


def test_order_is_flags_then_variables_then_local_then_config_then_default(tmp_path, monkeypatch, local_file):
    monkeypatch.delenv("PYTRACKING_OTB_PATH", raising=False)
    assert env_settings().otb_path is None
    (tmp_path / "config.toml").write_text('otb_path = "/from/config"\n[training]\nworkers = 2\n')
    assert str(env_settings().otb_path) == "/from/config"
    local_file.write_text(
        "from pytracking.evaluation.environment import EnvSettings\n"
        "def local_env_settings():\n    settings = EnvSettings()\n    settings.otb_path = '/from/local'\n"
        "    settings.uav_path = ''\n    return settings\n"
    )
    assert str(env_settings().otb_path) == "/from/local"
    assert env_settings().uav_path is None, "pytracking's local.py writes '' for a path that is not set"
    monkeypatch.setenv("PYTRACKING_OTB_PATH", "/from/variable")
    assert str(env_settings().otb_path) == "/from/variable"
    apply_flags(otb_path="/from/flag", uav_path=None)
    assert str(env_settings().otb_path) == "/from/flag"


def test_missing_path_names_its_key_and_shows_the_line():
    with pytest.raises(MissingPathError) as error:
        EnvSettings().require("lasot_path", "dataset 'lasot'")
    assert 'lasot_path = "' in str(error.value)
    assert "PYTRACKING_LASOT_PATH" in str(error.value)


@pytest.mark.parametrize("text", ["otb_path = /no/quotes\n", "otb_path = 3\n"])
def test_bad_config_file_is_named_and_kept(tmp_path, text):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="config.toml"):
        env_settings()
    assert file.read_text() == text


@pytest.mark.parametrize("text", ["def local_env_settings(:\n", "import no_such_module\n", "x = 1\n"])
def test_broken_local_file_is_named_and_never_rewritten(local_file, text):
    local_file.write_text(text)
    with pytest.raises(ConfigError, match="local.py"):
        env_settings()
    assert local_file.read_text() == text


def test_local_file_is_never_made(local_file):
    env_settings()
    assert not local_file.exists()
