package rhai

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds modules: what a script can import, and how import, m::x and
// m::f() are compiled.

// Module is a set of functions, values and other modules under one name.
type Module struct {
	vars    map[string]Value
	fns     map[fnKey]*moduleFunction
	methods map[methodKey]*moduleFunction
	natives map[fnKey]*overloads
	modules map[string]*Module
}

// moduleFunction is a function that a module offers: a script's, with what it
// sees, or native ones.
type moduleFunction struct {
	fn     *function
	env    *environ
	native *overloads
	name   string
}

// NewModule makes an empty module for the host to fill.
func NewModule() *Module {
	return &Module{
		vars: map[string]Value{}, fns: map[fnKey]*moduleFunction{}, methods: map[methodKey]*moduleFunction{},
		natives: map[fnKey]*overloads{}, modules: map[string]*Module{},
	}
}

// Set adds a constant.
func (m *Module) Set(name string, v Value) *Module {
	if v.IsNone() {
		v = value.Unit
	}
	m.vars[name] = value.Freeze(v)
	return m
}

// Register adds a native function.
func (m *Module) Register(f *value.Native) *Module {
	addNative(m.natives, f)
	return m
}

// RegisterFunc adds a function of Go, which knows the types that are registered
// with e: see [Engine.RegisterFunc].
//
// Errors: as [Engine.RegisterFunc].
func (m *Module) RegisterFunc(e *Engine, name string, f any) error {
	b := e.binding(name)
	b.into = func(f *value.Native) { m.Register(f) }
	return b.reflected(f)
}

// Add adds a module inside m.
func (m *Module) Add(name string, sub *Module) *Module {
	m.modules[name] = sub
	return m
}

func (m *Module) function(name string, arity int) *moduleFunction {
	k := fnKey{name, arity}
	if f := m.fns[k]; f != nil {
		return f
	}
	if o := m.natives[k]; o != nil {
		return &moduleFunction{native: o, name: name}
	}
	return nil
}

// method finds a typed method of m or of the modules inside it.
func (m *Module) method(k methodKey) *moduleFunction {
	if f := m.methods[k]; f != nil || len(m.modules) == 0 {
		return f
	}
	return m.methodWithin(k, map[*Module]bool{})
}

// methodWithin looks into each module once, however many import it.
func (m *Module) methodWithin(k methodKey, seen map[*Module]bool) *moduleFunction {
	if seen[m] {
		return nil
	}
	seen[m] = true
	if f := m.methods[k]; f != nil {
		return f
	}
	for _, sub := range m.modules {
		if f := sub.methodWithin(k, seen); f != nil {
			return f
		}
	}
	return nil
}

// call calls the function with values that are borrowed.
func (f *moduleFunction) call(fr *frame, args []Value, pos Pos) Value {
	if f.fn != nil {
		for i := range args {
			args[i].Keep()
		}
		return fr.callIn(f.fn, f.env, nil, false, args, pos)
	}
	if len(args) == 0 {
		if g := f.native.find(nil, nil, 0); g != nil {
			return fr.invoke(g, nil, nil, pos)
		}
	} else if g := f.native.find(&args[0], args[1:], len(args)); g != nil {
		return fr.invoke(g, &args[0], args[1:], pos)
	}
	return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: signature(f.name, args...), Pos: pos})
}

// Resolver finds the scripts that import names.
type Resolver interface {
	// Resolve finds what path means in the script called from ("" for one
	// without a name).
	//
	// Errors: [ErrNoModule] when there is none.
	Resolve(path, from string) (Source, error)
}

// Source is a module before it runs: a script's text under a name that tells
// it from all others, or a module of the host.
type Source struct {
	Name, Text string
	Module     *Module
}

// ErrNoModule says that a resolver does not know a module.
var ErrNoModule = fmt.Errorf("no such module: %w", fs.ErrNotExist)

// MemoryResolver serves scripts by name.
type MemoryResolver map[string]string

// Resolve finds a script by its exact name.
//
// Errors: [ErrNoModule].
func (r MemoryResolver) Resolve(path, _ string) (Source, error) {
	text, ok := r[path]
	if !ok {
		return Source{}, ErrNoModule
	}
	return Source{Name: path, Text: text}, nil
}

// FileResolver serves scripts of a folder and the folders in it; nothing
// outside can be reached, not by ".." and not by links.
type FileResolver struct {
	// Root is the folder.
	Root *os.Root
	// Extension is put in the place of whatever extension a path has. Default: ".rhai".
	Extension string
	// MaxSize bounds a script. Default: 1 MiB.
	MaxSize int64
}

// Resolve reads a file. The path is relative to the folder of the script that imports it.
//
// Errors: [ErrNoModule] for what is not there or outside; others for a file that is too large.
func (r *FileResolver) Resolve(name, from string) (Source, error) {
	name = strings.TrimSuffix(name, path.Ext(name)) + cmp.Or(r.Extension, ".rhai")
	file := path.Join(path.Dir(from), name)
	if strings.HasPrefix(name, "/") {
		file = strings.TrimPrefix(path.Clean(name), "/")
	}
	info, err := r.Root.Stat(file)
	if err != nil {
		return Source{}, fmt.Errorf("%w: %w", ErrNoModule, err)
	}
	if info.Size() > cmp.Or(r.MaxSize, 1<<20) {
		return Source{}, fmt.Errorf("module %q has %d bytes, allowed are %d", file, info.Size(), cmp.Or(r.MaxSize, 1<<20))
	}
	text, err := r.Root.ReadFile(file)
	if err != nil {
		return Source{}, fmt.Errorf("%w: %w", ErrNoModule, err)
	}
	return Source{Name: file, Text: string(text)}, nil
}

// importMark precedes the alias of a module among variables, where no variable can have such a name.
const importMark = "import "

// moduleType makes a module storable in a slot.
var moduleType = &value.Type{Name: "module"}

// importNode compiles import path as alias.
func (c *fnc) importNode(n *syntax.Import) node {
	x, pos, pathPos := c.node(n.Path, borrow), n.Pos, position(n.Path)
	slot, alias := -1, ""
	global := c.top && c.block == 0
	if n.Alias != nil {
		alias = n.Alias.Name
		slot = c.declareNew(alias, true)
		c.locals[len(c.locals)-1].module = true
	}
	return func(fr *frame) Value {
		v := x(fr)
		if v.IsNone() {
			return v
		}
		if !v.Is(value.StringKind) {
			return fr.fail(&value.Error{Kind: value.ErrorMismatchDataType, Got: rustName(v), Want: "string", Pos: pathPos})
		}
		r := fr.run
		if m := r.engine.MaxModules; m != 0 && r.modules >= max(m, 0) {
			return fr.fail(&value.Error{Kind: value.ErrorTooManyModules, Pos: pos})
		}
		r.modules++
		m := fr.load(v.AsString(), pathPos)
		if m == nil {
			return Value{}
		}
		r.imported = append(r.imported, m)
		if slot >= 0 && c.site != nil && c.block == 0 {
			// What an eval imports stays, like what it declares.
			f := fr
			for f.outer != nil {
				f = f.outer
			}
			v := value.NewCustom(moduleType, m)
			f.extras = append(f.extras, extra{importMark + alias, &v, true})
		}
		if slot >= 0 {
			fr.slots[slot] = value.NewCustom(moduleType, m)
			if global {
				fr.env.imports = append(fr.env.imports, imported{alias, m})
			}
		}
		return value.Unit
	}
}

// load gives a module, running its script the first time.
func (fr *frame) load(name string, pos Pos) *Module {
	r := fr.run
	missing := func() *Module {
		fr.fail(&value.Error{Kind: value.ErrorModuleNotFound, Name: name, Pos: pos})
		return nil
	}
	if r.engine.Resolver == nil {
		return missing()
	}
	src, err := r.engine.Resolver.Resolve(name, fr.env.source())
	if err != nil {
		return missing()
	}
	if src.Module != nil {
		return src.Module
	}
	if m, ok := r.resolved[src.Name]; ok {
		if m == nil { // it imports itself
			fr.fail(&value.Error{Kind: value.ErrorModuleNotFound, Name: name, Pos: pos})
		}
		return m
	}
	if r.resolved == nil {
		r.resolved = map[string]*Module{}
	}
	r.resolved[src.Name] = nil
	m := fr.runModule(src)
	if m == nil {
		delete(r.resolved, src.Name)
		if r.ctl == ctlError {
			r.err = &value.Error{Kind: value.ErrorInModule, Name: name, Inner: r.err, Pos: pos}
		}
		return nil
	}
	r.resolved[src.Name] = m
	return m
}

// runModule compiles and runs a module's script and takes what it exports.
func (fr *frame) runModule(src Source) *Module {
	r := fr.run
	opts := r.engine.parseOptions(nil)
	room, ok := r.left(Pos{})
	if !ok {
		return nil
	}
	opts.MaxSize = room
	p, err := syntax.Parse(src.Text, src.Name, opts)
	if err != nil {
		fr.fail(parsing(err))
		return nil
	}
	if r.calls >= r.engine.maxCalls() {
		fr.overflow(Pos{})
		return nil
	}
	u := compileUnit(r.engine, p)
	env := &environ{unit: u}
	r.envs = append(r.envs, env)
	scope, imported := r.scope, len(r.imported)
	r.scopes, r.scope = append(r.scopes, scope), NewScope()
	callee := r.enter(u.slots)
	clear(callee.slots)
	callee.env = env
	base := r.base
	r.base = r.depth
	v := u.body(callee)
	m := (*Module)(nil)
	if !v.IsNone() || r.ctl == ctlReturn || r.ctl == ctlExit {
		r.ctl, r.ret = ctlNone, Value{}
		m = u.exports(callee, env)
	}
	r.base = base
	r.leave(callee)
	r.scopes, r.scope = r.scopes[:len(r.scopes)-1], scope
	r.imported = r.imported[:min(imported, len(r.imported))]
	return m
}

// export notes that the script offers a variable.
func (c *fnc) export(n *syntax.Export) node {
	r, alias := c.look(n.Name.Name, n.Name.Pos), cmp.Or(n.Alias.Name, n.Name.Name)
	return func(fr *frame) Value {
		if p, _ := fr.lookup(&r); p == nil {
			return fr.fail(&value.Error{Kind: value.ErrorVariableNotFound, Name: r.name, Pos: r.pos})
		}
		fr.env.exports = append(fr.env.exports, exported{r.name, alias})
		return value.Unit
	}
}

// exports makes the module of a script that has run.
func (u *unit) exports(fr *frame, env *environ) *Module {
	m := NewModule()
	give := func(name, alias string) {
		for i := len(u.vars) - 1; i >= 0; i-- {
			if l := u.vars[i]; l.name == name && !l.module {
				m.vars[alias] = fr.slots[l.slot].Flatten().Keep()
				return
			}
		}
	}
	for _, x := range env.exports {
		give(x.name, x.alias)
	}
	for k, f := range u.fns {
		if !f.def.Private {
			m.fns[k] = &moduleFunction{fn: f, env: env}
		}
	}
	for k, f := range u.methods {
		if !f.def.Private {
			m.methods[k] = &moduleFunction{fn: f, env: env}
		}
	}
	for _, im := range env.imports {
		m.modules[im.alias] = im.module
	}
	return m
}

var noModule = NewModule()

// finder compiles the way to the module of a path.
func (c *fnc) finder(p []syntax.Ident) func(fr *frame) *Module {
	first, rest := p[0], p[1:]
	local := find(c.locals, first.Name, true)
	hops, slot := 0, -1
	if local != nil {
		slot = local.slot
	} else {
		for s, h := c.site, 1; s != nil; s, h = s.outer, h+1 {
			if l := find(s.locals, first.Name, true); l != nil {
				hops, slot = h, l.slot
				break
			}
		}
	}
	names := make([]string, len(p))
	for i, id := range p {
		names[i] = id.Name
	}
	fail := func(fr *frame) *Module {
		fr.fail(&value.Error{Kind: value.ErrorModuleNotFound, Name: strings.Join(names, "::"), Pos: first.Pos})
		return nil
	}
	return func(fr *frame) *Module {
		var m *Module
		if slot >= 0 {
			f := fr
			for range hops {
				f = f.outer
			}
			if v := f.slots[slot]; v.Is(value.CustomKind) {
				m, _ = v.AsCustom().Data.(*Module)
			}
		}
		if m == nil {
			m = fr.env.module(first.Name)
		}
		if m == nil {
			m = fr.run.engine.modules[first.Name]
		}
		for f := fr; m == nil && f != nil; f = f.outer {
			for _, x := range f.extras {
				if x.name == importMark+first.Name {
					m, _ = x.v.AsCustom().Data.(*Module)
				}
			}
		}
		if m == nil {
			fr.around(func(env *environ) bool {
				m = env.module(first.Name)
				return m != nil
			})
		}
		if m == nil {
			return fail(fr)
		}
		for _, id := range rest {
			if m = m.modules[id.Name]; m == nil {
				return noModule // what is looked for in there does not exist
			}
		}
		return m
	}
}

// isGlobal reports the path global::, which leads to the script's constants.
func isGlobal(p []syntax.Ident) bool { return len(p) == 1 && p[0].Name == "global" }

func (c *fnc) qualifiedName(n *syntax.Name) node {
	pathText := pathOf(n.Path, n.Name)
	missing := func(fr *frame, pos Pos) Value {
		return fr.fail(&value.Error{Kind: value.ErrorVariableNotFound, Name: pathText, Pos: pos})
	}
	find := c.finder(n.Path)
	global := isGlobal(n.Path)
	return func(fr *frame) Value {
		if global {
			if v, ok := fr.env.consts[n.Name]; ok {
				return v
			}
			if fr.env.module("global") == nil && fr.run.engine.modules["global"] == nil {
				return missing(fr, n.Path[0].Pos)
			}
		}
		m := find(fr)
		if m == nil {
			return Value{}
		}
		if v, ok := m.vars[n.Name]; ok {
			return v
		}
		return missing(fr, n.Path[0].Pos)
	}
}

func pathOf(p []syntax.Ident, name string) string {
	var b strings.Builder
	for _, id := range p {
		b.WriteString(id.Name)
		b.WriteString("::")
	}
	return b.String() + name
}

func (c *fnc) qualifiedCall(n *syntax.Call) node {
	args := make([]node, len(n.Args))
	quiet := quietAfter(n.Args)
	for i, a := range n.Args {
		m := borrow
		if i < quiet {
			m = own
		}
		args[i] = c.node(a, m)
	}
	find, pos := c.finder(n.Path), n.Pos
	pathText := pathOf(n.Path, n.Name)
	return func(fr *frame) Value {
		r := fr.run
		vals := r.scratch(len(args))
		defer r.release(vals)
		for i, a := range args {
			if vals[i] = a(fr); vals[i].IsNone() {
				return Value{}
			}
		}
		m := find(fr)
		if m == nil {
			return Value{}
		}
		f := m.function(n.Name, len(vals))
		if f == nil {
			return fr.fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: signature(pathText, vals...), Pos: pos})
		}
		return f.call(fr, vals, pos)
	}
}

// assignQualified refuses: variables of modules are constants for others.
func (c *fnc) assignQualified(n *syntax.Assign, t *syntax.Name) node {
	x, read := c.node(n.Value, borrow), c.qualifiedName(t)
	return func(fr *frame) Value {
		if v := x(fr); v.IsNone() {
			return v
		}
		if v := read(fr); v.IsNone() {
			return v
		}
		return fr.fail(&value.Error{Kind: value.ErrorAssignmentToConstant, Name: t.Name, Pos: t.Pos})
	}
}
