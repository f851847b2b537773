"""Makes a report of what the shops have left as params."""
import json
import os

with open(os.environ["RAMET_INPUT"]) as f:
    params = json.load(f)["params"]

shops = {int(name.removeprefix("shop_")): int(cents) for name, cents in params.items() if name.startswith("shop_")}
for shop, cents in sorted(shops.items()):
    print(f"shop {shop} {cents / 100:12,.2f}")
print(f"total  {sum(shops.values()) / 100:12,.2f}")

with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"revenue={sum(shops.values()) / 100:.2f}\n")
    result.write(f"best=shop {max(shops, key=shops.get)}\n")
