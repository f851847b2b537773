print("customers")
