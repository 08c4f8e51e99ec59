from pytracking.utils import TrackerParams


def parameters():
    params = TrackerParams()
    params.debug = 0
    params.visualization = False
    params.use_gpu = True
    params.set_default_values({"radius": 3, "debug": 5})
    params.vot_anno_conversion_type = "preserve_area"
    return params
