echo walnut
