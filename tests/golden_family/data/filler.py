"""Deterministic, name-keyed pseudo-random filler for any state dict.

RULE (numpy >= 1.17; bit generator PCG64, so results are platform independent):

  g = numpy.random.Generator(numpy.random.PCG64([zlib.crc32(name.encode('utf-8')), seed]))
  n = g.standard_normal(prod(shape)).reshape(shape)          # float64, C order

  then the FIRST matching line of this table gives the value (float64), which is
  finally cast to the tensor's own dtype (float32 for the golden runs):

  1  name ends with 'num_batches_tracked'            -> 0 (integer)
  2  name ends with 'filter_optimizer.log_step_length' or is 'log_step_length'
                                                      -> log(0.9)            (no noise)
  3  name ends with 'filter_reg'                      -> 0.1                 (no noise)
  4  name ends with 'label_map_predictor.weight'      -> e - min(e) + 0.02*n
         with d = 0.1*[0,1,...,nb-1] along axis 1, e = exp(-0.5*(d/0.9)**2)
  5  name ends with 'target_mask_predictor.0.weight'  -> 3*tanh(2 - d) + 0.1*n
  6  name ends with 'spatial_weight_predictor.weight' -> 1 + 0.1*n
  7  name ends with 'running_mean'                    -> 0.1*n
  8  name ends with 'running_var'                     -> 1 + 0.2*|n|
  9  ndim == 1 and name ends with 'weight'            -> gain*(1 + 0.1*n)    (batch-norm scale)
 10  ndim == 1                                        -> 0.1*n               (any bias)
 11  ndim >= 2                                        -> gain*sqrt(2/fan_in)*n,  fan_in = prod(shape[1:])
 12  ndim == 0                                        -> 0.1*n

  gain (default 1) comes from GAINS below: the first entry whose regular expression
  re.search()es the full parameter name.  The gains only keep the random networks from
  exploding (residual branches damped, IoU head small) so that tracker runs stay tame.

The first-weight rule uses the FULL name as stored in the checkpoint's 'net' dict, e.g.
'feature_extractor.layer1.0.conv1.weight'.  For stand-alone modules the golden says which
prefix was used.
"""
import math
import re
import zlib

import numpy as np

GAINS = [
    (r'layer\d+\.\d+\.bn3\.weight$', 0.3),                     # last BN of a bottleneck
    (r'feature_extractor\.layer\d+\.\d+\.bn2\.weight$', 0.6),  # (basic block: last BN; bottleneck: mid BN)
    (r'bb_regressor\.iou_predictor\.weight$', 0.6),
    (r'bb_regressor\.fc34_[34]r\.1\.weight$', 0.3),
    (r'filter_initializer\.filter_conv\.weight$', 0.05),
    (r'^layers\.conv1\.0\.weight$', 0.02),                     # MDNet: inputs are in [-128, 127]
    (r'^conv1\.0\.weight$', 0.02),
]


def gain_of(name):
    for pat, g in GAINS:
        if re.search(pat, name):
            return g
    return 1.0


def normal(name, shape, seed=0):
    g = np.random.Generator(np.random.PCG64([zlib.crc32(name.encode('utf-8')), int(seed)]))
    shape = tuple(int(s) for s in shape)
    k = int(np.prod(shape)) if len(shape) else 1
    return g.standard_normal(k).reshape(shape)


def value(name, shape, seed=0):
    """Float64 array for one parameter/buffer."""
    shape = tuple(int(s) for s in shape)
    if name.endswith('num_batches_tracked'):
        return np.zeros(shape)
    if name.endswith('log_step_length'):
        return np.full(shape, math.log(0.9))
    if name.endswith('filter_reg'):
        return np.full(shape, 0.1)
    n = normal(name, shape, seed)
    if name.endswith('label_map_predictor.weight'):
        d = 0.1 * np.arange(shape[1]).reshape(1, -1, 1, 1)
        e = np.exp(-0.5 * (d / 0.9) ** 2)
        return e - e.min() + 0.02 * n
    if name.endswith('target_mask_predictor.0.weight'):
        d = 0.1 * np.arange(shape[1]).reshape(1, -1, 1, 1)
        return 3.0 * np.tanh(2.0 - d) + 0.1 * n
    if name.endswith('spatial_weight_predictor.weight'):
        return 1.0 + 0.1 * n
    if name.endswith('running_mean'):
        return 0.1 * n
    if name.endswith('running_var'):
        return 1.0 + 0.2 * np.abs(n)
    g = gain_of(name)
    if len(shape) == 1:
        return g * (1.0 + 0.1 * n) if name.endswith('weight') else 0.1 * n
    if len(shape) >= 2:
        return g * math.sqrt(2.0 / np.prod(shape[1:])) * n
    return 0.1 * n


def fill_state_dict(sd, seed=0, prefix=''):
    """Fill a torch state dict (name -> tensor) in place; returns it."""
    import torch
    for name, t in sd.items():
        v = value(prefix + name, t.shape, seed)
        t.copy_(torch.from_numpy(np.ascontiguousarray(v)).to(t.dtype).reshape(t.shape))
    return sd


def fill_module(module, seed=0, prefix=''):
    import torch
    with torch.no_grad():
        fill_state_dict(module.state_dict(), seed, prefix)   # state_dict() tensors alias the parameters
    return module


def array(tag, shape, seed=0, scale=1.0, offset=0.0):
    """Seeded golden INPUTS use the same generator: offset + scale*normal('input:'+tag)."""
    return offset + scale * normal('input:' + tag, shape, seed)


if __name__ == '__main__':
    # self check values anybody can compare with
    v = value('feature_extractor.conv1.weight', (64, 3, 7, 7))
    print(repr(v.ravel()[:3].tolist()), repr(float(v.sum())))
