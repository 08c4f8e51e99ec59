from pytracking.features.net_wrappers import NetWithBackbone
from pytracking.utils import TrackerParams


def parameters():
    params = TrackerParams()
    params.debug = 0
    params.visualization = False
    params.use_gpu = True
    params.image_sample_size = 8 * 32
    params.search_area_scale = 5
    params.border_mode = "inside_major"
    params.patch_max_scale_change = 1.5
    params.sample_memory_size = 12
    params.learning_rate = 0.1
    params.train_skipping = 2
    params.net_opt_iter = 4
    params.net_opt_update_iter = 2
    params.use_augmentation = True
    params.augmentation = {"fliplr": True, "rotate": [8, -8], "blur": [(2, 2)], "relativeshift": [(0.4, -0.4)],
                           "dropout": (2, 0.2)}
    params.augmentation_expansion_factor = 2
    params.window_output = True
    params.remember_motion = True
    params.box_refinement_iter = 3
    params.box_refinement_step_length = (2e-3, 2e-3)
    params.net = NetWithBackbone(net_path="dimp_mobile", use_gpu=params.use_gpu)
    params.vot_anno_conversion_type = "preserve_area"
    return params
