"""Golden folder ``rtmdnet``: RoI sampling, image crops, convolutions and head of RT-MDNet."""
import json
import os
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from ltr.models.inference import prepare_for_inference
from ltr.models.tracking.mdnet import mdnet
from ltr.ops import RoISampler, roi_sample
from pytracking.tracker.rtmdnet.scene import crop_scenes

KINDS = {"plain": "plain", "ada": "adaptive", "dense": "dense"}
SCALE = 1 / 8


@pytest.fixture(scope="module")
def sampling(golden_dir):
    return dict(np.load(golden_dir / "rtmdnet" / "roi_align.npz"))


@pytest.mark.parametrize("short", KINDS)
@pytest.mark.parametrize(("precision", "dtype", "atol"), [("f32", torch.float32, 1e-4), ("f64", torch.float64, 1e-9)])
def test_rtmdnet_roi_sampling(sampling, short, precision, dtype, atol):
    names = [name for name in sampling if name.startswith(f"{short}_") and name.endswith(precision)]
    assert names
    features, rois = (torch.tensor(sampling[key], dtype=dtype) for key in ("features", "rois"))
    for name in names:
        rows, columns = (int(n) for n in name.split("_")[1].split("x"))
        found = roi_sample(features, rois, (rows, columns), SCALE, KINDS[short])
        np.testing.assert_allclose(found.numpy(), sampling[name], rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize(
    ("name", "kind", "pooling"),
    [
        ("RoIAlignMax", "plain", "max"),
        ("RoIAlignAdaMax", "adaptive", "max"),
        ("RoIAlignDenseAdaMax", "dense", "max"),
        ("RoIAlignAvg", "plain", "avg"),
    ],
)
def test_rtmdnet_roi_pooling(sampling, name, kind, pooling):
    size = int(next(key for key in sampling if key.startswith(f"{name}_")).rsplit("x", 1)[1])
    sampler = RoISampler(size, SCALE, kind, pooling)
    found = sampler(torch.tensor(sampling["features"]), torch.tensor(sampling["rois"]))
    np.testing.assert_allclose(found.numpy(), sampling[f"{name}_{size}x{size}"], rtol=0, atol=1e-4)


def frame_of(golden_set) -> torch.Tensor:
    root = Path(os.environ.get("PYTRACKING_TEST_SEQUENCES", Path(__file__).parents[3] / "shared" / "sequences"))
    file = root / "OTB" / "DragonBaby" / "img" / golden_set["dragonbaby_frame"]
    if not file.is_file():
        pytest.skip(f"{file} is not here; set PYTRACKING_TEST_SEQUENCES to a folder that holds OTB/DragonBaby")
    image = cv2.cvtColor(cv2.imread(str(file)), cv2.COLOR_BGR2RGB)
    return torch.tensor(image, dtype=torch.float32).permute(2, 0, 1)


def test_rtmdnet_crops(sampling, golden_set):
    image = frame_of(golden_set)
    for index, (box, size) in enumerate(zip(sampling["crop_boxes_xywh"], sampling["crop_sizes_wh"], strict=True)):
        (found,) = crop_scenes(image, box[None], (int(size[0]), int(size[1])))
        np.testing.assert_allclose(found[:, ::3, ::3].numpy(), sampling[f"crop{index}"], rtol=0, atol=1e-4)


@pytest.mark.parametrize("prepared", [False, True])
def test_rtmdnet_convolutions(golden_dir, golden_set, filler, prepared):
    numbers = np.load(golden_dir / "rtmdnet" / "conv_head.npz")
    net = filler.fill_module(mdnet().eval(), golden_set["seed"])
    net = prepare_for_inference(net) if prepared else net
    image = filler.array("md_im", golden_set["md_im_shape"], golden_set["seed"], scale=50)
    x = torch.tensor(image, dtype=torch.float32)
    with torch.inference_mode():
        for name in ("conv1", "conv2", "conv3"):
            x = getattr(net.layers, name)(x)
            assert list(x.shape) == numbers[f"{name}_shape"].tolist()
            values = x.double().numpy()
            stats = [values.mean(), values.std(), values.min(), values.max(), np.abs(values).sum()]
            np.testing.assert_allclose(stats, numbers[f"{name}_stats"], rtol=1e-4, atol=1e-9)
            expected = numbers[f"{name}_sub"]
            found = values[:, ::7, ::3, ::3]
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max(), err_msg=name)


@pytest.mark.parametrize(("dtype", "key"), [(torch.float32, "head_fc6"), (torch.float64, "head_fc6_f64")])
def test_rtmdnet_head(golden_dir, golden_set, filler, dtype, key):
    numbers = np.load(golden_dir / "rtmdnet" / "conv_head.npz")
    net = filler.fill_module(mdnet().eval(), golden_set["seed"]).to(dtype)
    rows = len(numbers["head_fc4"])
    features = np.maximum(filler.array("md_feat", (rows, net.feature_size), golden_set["seed"]), 0)
    with torch.inference_mode():
        fc4 = net.layers.fc4(torch.tensor(features, dtype=dtype))
        fc5 = net.layers.fc5(fc4)
        logits = net.classify(torch.tensor(features, dtype=dtype))
    for found, name in ((fc4, "head_fc4"), (fc5, "head_fc5"), (logits, key)):
        scale = np.abs(numbers[name]).max()
        np.testing.assert_allclose(found.numpy(), numbers[name], rtol=1e-4, atol=1e-4 * scale, err_msg=name)


@pytest.mark.parametrize(("file", "spec"), [("rtmdnet", "vggm"), ("pymdnet", "vggm_original")])
def test_rtmdnet_state_dicts(golden_dir, file, spec):
    golden = json.loads((golden_dir / "state_dicts" / f"{file}.json").read_text())
    state = mdnet(spec=spec).state_dict()
    found = {name: [list(t.shape), str(t.dtype).removeprefix("torch.")] for name, t in state.items()}
    if file == "rtmdnet":
        assert found == golden["full_state_dict"]
    shared = {name.removeprefix("layers."): value for name, value in found.items() if name.startswith("layers.")}
    assert shared == golden["shared_layers"]
