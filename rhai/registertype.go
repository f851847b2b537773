package rhai

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file registers types of Go, with what scripts can do with their objects.

// TypeOf is a Go type T of whose objects scripts can hold any number.
//
// A script has objects of its own. What crosses between Go and a script is
// copied, in both directions and however deep it lies in slices, maps, structs
// and results, and a *T means there what a T means: nobody holds a pointer into
// what a script holds, and no script one into what Go holds. The methods,
// properties and indexers of the type alone get the script's own object, which they may
// change. [TypeOf.Shared] makes an exception of a type.
//
// A panic of a method, property or indexer is an error of the script. One of
// what copies, shows or iterates (CopyWith, ShowAs, IterateBy) is the host's.
type TypeOf[T any] struct {
	e *Engine
	t *value.Type
}

// RegisterType makes T known under the name that type_of answers. It comes
// before the functions that take or give a T.
//
// It panics for what could not work: a second name for T, a T of which a
// registered function thinks otherwise already, and a T that is a type of the
// language, a pointer, an interface or without a name.
func RegisterType[T any](e *Engine, name string) TypeOf[T] {
	g := reflect.TypeFor[T]()
	switch {
	case g.PkgPath() == "" || g.Kind() == reflect.Interface || g == reflect.TypeFor[Value]():
		panic(fmt.Sprintf("BUG: register type %q: %s is not a type that can be registered: declare one, as in type %s struct{...}", name, g, name))
	case e.types[g] != nil:
		panic(fmt.Sprintf("BUG: register type %q: %s is registered as %q", name, g, e.types[g].Name))
	case e.plain[g]:
		panic(fmt.Sprintf("BUG: register type %q: register it before the functions that take or give a %s", name, g))
	}
	t := &value.Type{Name: name, Assigned: true, Clone: func(data any) any {
		c := *data.(*T)
		return &c
	}}
	if e.types == nil {
		e.types = value.Types{}
	}
	e.types[g] = t
	return TypeOf[T]{e, t}
}

// Value makes a value of x, which is copied.
func (t TypeOf[T]) Value(x T) Value { return value.NewCustom(t.t, t.t.Copied(&x)) }

// Of gives a copy of the T that v holds, false when it holds none.
func (t TypeOf[T]) Of(v Value) (*T, bool) {
	v = v.Flatten()
	if !v.Is(value.CustomKind) || v.AsCustom().Type != t.t {
		return nil, false
	}
	return v.AsCustom().Copied().(*T), true
}

// CopyWith says how a T is copied when it holds what must not be shared.
// Default: by assignment.
func (t TypeOf[T]) CopyWith(f func(*T) T) TypeOf[T] {
	t.t.Assigned, t.t.Clone = false, func(data any) any {
		c := f(data.(*T))
		return &c
	}
	return t
}

// Shared says that a T is never copied: a *T that goes to a script, through it
// and back is one pointer, and let b = a makes two names of one object. It is
// for what stands for something outside, such as a connection; functions take
// and give it as *T. A T that runs in several goroutines meet must be safe for that.
func (t TypeOf[T]) Shared() TypeOf[T] {
	t.t.Assigned, t.t.Clone = false, nil
	return t
}

// ShowAs says how a T is printed. Default: the type's name.
func (t TypeOf[T]) ShowAs(f func(*T) string) TypeOf[T] {
	show := func(data any) string { return f(data.(*T)) }
	t.t.Display, t.t.Debug = show, show
	return t
}

// IterateBy lets scripts loop over a T.
func (t TypeOf[T]) IterateBy(f func(*T) iter.Seq[Value]) TypeOf[T] {
	t.t.Iterate = func(data any) (func() Value, func()) {
		next, stop := iter.Pull(f(data.(*T)))
		return func() Value {
			v, _ := next()
			return v
		}, stop
	}
	return t
}

// RegisterMethod registers x.name(a, b), of any arity. f is a function of Go
// whose first parameter is a *T, the script's own object, which it may change; a
// method expression such as (*Cart).Add is one. All else is as with
// [Engine.RegisterFunc]: a context.Context comes right after the *T.
//
// Errors: as [Engine.RegisterFunc].
func (t TypeOf[T]) RegisterMethod(name string, f any) error {
	return t.binding(name, true).reflected(f)
}

// RegisterProperty registers x.name: get is a func(*T) P, set a func(*T, P) or
// nil, with which the property is read-only. Both may take a context.Context
// after the *T, and return an error.
//
// Errors: as [Engine.RegisterFunc]; for functions of other shapes.
func (t TypeOf[T]) RegisterProperty(name string, get, set any) error {
	if err := t.accessor("get$"+name, get, 0, 1); err != nil || set == nil {
		return err
	}
	return t.accessor("set$"+name, set, 1, 0)
}

// RegisterIndexer registers x[i]: get is a func(*T, I) P, set a func(*T, I, P)
// or nil, with which items are read-only. Both may take a context.Context after
// the *T, and return an error.
//
// Errors: as [Engine.RegisterFunc]; for functions of other shapes.
func (t TypeOf[T]) RegisterIndexer(get, set any) error {
	if err := t.accessor("index$get$", get, 1, 1); err != nil || set == nil {
		return err
	}
	return t.accessor("index$set$", set, 2, 0)
}

// accessor registers a function that takes so many arguments beside the object
// and gives so many results. Those that give none change the object.
func (t TypeOf[T]) accessor(name string, f any, takes, gives int) error {
	s := t.binding(name, gives == 0)
	if g := reflect.TypeOf(f); g != nil && g.Kind() == reflect.Func {
		n, out := g.NumIn()-1, g.NumOut()
		if n > 0 && g.In(1) == contextType {
			n--
		}
		if out > 0 && g.Out(out-1) == errorType {
			out--
		}
		if n != takes || out != gives || g.IsVariadic() {
			s.refuse("%s should take a %s and %d more, and give %d", g, s.own, takes, gives)
		}
	}
	return s.reflected(f)
}

// binding begins a function whose first parameter is the object.
func (t TypeOf[T]) binding(name string, mutates bool) *binding {
	s := t.e.binding(name)
	s.own = reflect.TypeFor[*T]()
	s.native.Mutates = mutates
	s.native.Params = []value.Param{{Type: t.t}}
	return s
}

func self[T any](this *Value) *T { return value.MutCustom(this).Data.(*T) }

// Property registers x.name, without reflection. set may be nil: the property
// is read-only then. It panics, as Indexer and Method0 to Method3 do, where
// RegisterProperty would give an error.
func Property[T, P any](t TypeOf[T], name string, get func(*T) P, set func(*T, P)) {
	g := t.binding("get$"+name, false)
	g.result(reflect.TypeFor[P]())
	g.register(func(c *value.Ctx, this *Value, _ []Value) Value {
		return g.returned(c, get(this.AsCustom().Data.(*T)), nil)
	})
	if set == nil {
		return
	}
	s := t.binding("set$"+name, true)
	p := param[P](s)
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		x, err := p(c, this, args)
		if err != nil {
			return failedWith(c, err)
		}
		set(self[T](this), x)
		return value.Unit
	})
}

// Indexer registers x[i], without reflection. set may be nil: items are read-only then.
func Indexer[T, I, P any](t TypeOf[T], get func(*T, I) (P, error), set func(*T, I, P) error) {
	g := t.binding("index$get$", false)
	index := param[I](g)
	g.result(reflect.TypeFor[P]())
	g.register(func(c *value.Ctx, this *Value, args []Value) Value {
		i, err := index(c, this, args)
		if err != nil {
			return failedWith(c, err)
		}
		x, err := get(this.AsCustom().Data.(*T), i)
		return g.returned(c, x, err)
	})
	if set == nil {
		return
	}
	s := t.binding("index$set$", true)
	index, p := param[I](s), param[P](s)
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		i, err1 := index(c, this, args)
		x, err2 := p(c, this, args)
		err := cmp.Or(err1, err2)
		if err == nil {
			err = set(self[T](this), i, x)
		}
		if err != nil {
			return failedWith(c, err)
		}
		return value.Unit
	})
}

// Method0 registers x.name(), which may change x.
func Method0[T, R any](t TypeOf[T], name string, f func(*T) (R, error)) {
	s := t.binding(name, true)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, this *Value, _ []Value) Value {
		r, err := f(self[T](this))
		return s.returned(c, r, err)
	})
}

// Method1 registers x.name(a), which may change x. a may be the context of the run.
func Method1[T, A, R any](t TypeOf[T], name string, f func(*T, A) (R, error)) {
	s := t.binding(name, true)
	a := param[A](s)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		x, err := a(c, this, args)
		if err != nil {
			return failedWith(c, err)
		}
		r, err := f(self[T](this), x)
		return s.returned(c, r, err)
	})
}

// Method2 registers x.name(a, b), which may change x. a may be the context of the run.
func Method2[T, A, B, R any](t TypeOf[T], name string, f func(*T, A, B) (R, error)) {
	s := t.binding(name, true)
	a, b := param[A](s), param[B](s)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		x, err1 := a(c, this, args)
		y, err2 := b(c, this, args)
		if err := cmp.Or(err1, err2); err != nil {
			return failedWith(c, err)
		}
		r, err := f(self[T](this), x, y)
		return s.returned(c, r, err)
	})
}

// Method3 registers x.name(a, b, c), which may change x. a may be the context of the run.
func Method3[T, A, B, C, R any](t TypeOf[T], name string, f func(*T, A, B, C) (R, error)) {
	s := t.binding(name, true)
	a, b, d := param[A](s), param[B](s), param[C](s)
	s.result(reflect.TypeFor[R]())
	s.register(func(c *value.Ctx, this *Value, args []Value) Value {
		x, err1 := a(c, this, args)
		y, err2 := b(c, this, args)
		z, err3 := d(c, this, args)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return failedWith(c, err)
		}
		r, err := f(self[T](this), x, y, z)
		return s.returned(c, r, err)
	})
}

// Nothing is the result of functions that give none.
type Nothing struct{}
