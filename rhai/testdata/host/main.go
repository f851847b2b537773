// Host is a program that embeds rhai and nothing else of Ramet: the package's
// test builds it as a module of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// Cart is a type of the host's that scripts work with.
type Cart struct {
	Owner string
	Items []string
}

// Add is a method that scripts call.
func (c *Cart) Add(items ...string) int {
	c.Items = append(c.Items, items...)
	return len(c.Items)
}

const script = `
	let mine = cart(customer.name);
	mine.add("tea");
	mine.add("cup", "pot");
	print(mine);
	#{owner: mine.owner, price: price(mine), greeting: greet("Dear", mine.owner)}`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	e := rhai.NewEngine()
	e.MaxOperations, e.MaxMemory = 1_000_000, 16<<20

	carts := rhai.RegisterType[Cart](e, "Cart").ShowAs(func(c *Cart) string { return fmt.Sprint(c.Owner, "'s ", c.Items) })
	rhai.Property(carts, "owner", func(c *Cart) string { return c.Owner }, nil)
	if err := errors.Join(
		carts.RegisterMethod("add", (*Cart).Add),
		e.RegisterFunc("cart", func(owner string) *Cart { return &Cart{Owner: owner} }),
		e.RegisterFunc("price", func(ctx context.Context, c *Cart) (float64, error) { return 2.5 * float64(len(c.Items)), ctx.Err() }),
		e.RegisterFunc("greet", func(words ...string) string { return fmt.Sprint(words) }),
	); err != nil {
		return err
	}

	customer, err := e.FromGo(map[string]string{"name": "Ada"})
	if err != nil {
		return err
	}
	v, err := e.EvalWith(ctx, script, rhai.NewScope().SetConst("customer", customer))
	if err != nil {
		return err
	}
	bill, err := value.To[struct {
		Owner    string  `json:"owner"`
		Price    float64 `json:"price"`
		Greeting string  `json:"greeting"`
	}](v)
	fmt.Println(v)
	fmt.Println(bill.Owner, bill.Price, bill.Greeting)
	return err
}
