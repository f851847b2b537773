"""Counts a month, and makes a page of it for whoever signs. The figures are made up."""
import os
import random

month = os.environ["RAMET_PARAM_MONTH"]
source = random.Random(month)
sales = {country: source.randint(10_000, 90_000) for country in ("Norway", "Ghana", "Chile")}

with open("report.html", "w") as page:
    page.write(f"<h1>{month}</h1>\n<table>\n")
    page.writelines(f"<tr><td>{country}<td>{euros}\n" for country, euros in sales.items())
    page.write("</table>\n")
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"gross={sum(sales.values())}\n")
