import copy

import pytest

from ltr.admin.environment import configured_path
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
    (tmp_path / "config.toml").write_text('otb_path = "/from/config"\n[training]\nsprites_path = "/s"\n')
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('lasot_pth = "/data"\n', "config.toml: .*'lasot_pth'. Did you mean 'lasot_path'"),
        ('[training]\nlasot_pth = "/data"\n', r"config.toml, table \[training\]: .* Did you mean 'lasot_path'"),
        ('[traning]\nlasot_path = "/data"\n', "config.toml: there is no table 'traning'. Did you mean 'training'"),
    ],
)
def test_a_misspelled_key_in_the_config_file_is_an_error_with_the_nearest(tmp_path, text, message):
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        env_settings()


def test_a_misspelled_variable_is_an_error_but_a_foreign_one_is_not(monkeypatch):
    monkeypatch.setenv("PYTRACKING_RELEASE", "7")
    assert "release" not in vars(env_settings())
    monkeypatch.setenv("PYTRACKING_LASOT_PTH", "/data")
    with pytest.raises(ConfigError, match="PYTRACKING_LASOT_PTH.*Did you mean 'lasot_path'"):
        env_settings()


def test_pytrackings_local_file_may_have_keys_that_are_not_needed_here(local_file):
    lines = "from pytracking.evaluation.environment import EnvSettings\n"
    lines += "def local_env_settings():\n    s = EnvSettings()\n"
    local_file.write_text(lines + "    s.davis_dir = '/davis'\n    s.otb_path = '/otb'\n    return s\n")
    assert str(env_settings().otb_path) == "/otb"
    local_file.write_text(lines + "    s.otb_pth = '/otb'\n    return s\n")
    with pytest.raises(ConfigError, match="local.py.*Did you mean 'otb_path'"):
        env_settings()


def test_a_setting_that_does_not_exist_is_no_none():
    with pytest.raises(AttributeError, match="'result_path'. Did you mean 'results_path'"):
        _ = env_settings().result_path
    assert EnvSettings().lasot_path is None
    assert copy.deepcopy(env_settings()).results_path == env_settings().results_path


def test_training_reads_the_same_file_and_a_dataset_is_named_once(tmp_path, monkeypatch):
    for name in ("LTR_LASOT_PATH", "PYTRACKING_LASOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mine.toml").write_text('lasot_path = "/shared/lasot"\n')
    monkeypatch.setenv("PYTRACKING_CONFIG", str(tmp_path / "mine.toml"))
    assert str(configured_path("lasot_path")) == str(env_settings().lasot_path) == "/shared/lasot"
    (tmp_path / "mine.toml").write_text('lasot_path = "/shared/lasot"\n[training]\nlasot_path = "/fast/lasot"\n')
    assert str(configured_path("lasot_path")) == "/fast/lasot" and str(env_settings().lasot_path) == "/shared/lasot"
    monkeypatch.setenv("PYTRACKING_LASOT_PATH", "/variable")
    assert str(configured_path("lasot_path")) == str(env_settings().lasot_path) == "/variable"
    monkeypatch.setenv("LTR_LASOT_PATH", "/training")
    assert str(configured_path("lasot_path")) == "/training"


def test_local_file_is_never_made(local_file):
    env_settings()
    assert not local_file.exists()
