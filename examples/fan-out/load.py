"""Loads the files of all shops into one table, and asks it."""
import csv
import glob
import os
import sqlite3

db = sqlite3.connect("orders.db")
db.execute("create table orders (day text, shop text, number int, cents int, primary key (day, shop, number))")
for path in sorted(glob.glob(os.path.join(os.environ["RAMET_ARTIFACTS"], "extract", "*", "orders.csv"))):
    with open(path, newline="") as f:
        db.executemany("insert into orders values (?, ?, ?, ?)", csv.reader(f))
db.commit()

for shop, count, cents in db.execute("select shop, count(*), sum(cents) from orders group by shop order by 3 desc"):
    print(f"{shop:6} {count:5} {cents / 100:10,.2f}")
shops, orders, cents = db.execute("select count(distinct shop), count(*), coalesce(sum(cents), 0) from orders").fetchone()
with open(os.environ["RAMET_RESULT"], "w") as result:
    result.write(f"shops={shops}\norders={orders}\nrevenue={cents / 100:.2f}\n")
