package syntax

// Walk visits n and what is inside it, parents first, as long as visit says
// true. Bodies of closures are visited through Closure.Fn.Body.
func Walk(n Node, visit func(Node) bool) {
	if isNil(n) || !visit(n) {
		return
	}
	each := func(nodes []Node) {
		for _, n := range nodes {
			Walk(n, visit)
		}
	}
	block := func(b *Block) {
		if b != nil {
			Walk(b, visit)
		}
	}
	switch n := n.(type) {
	case *Interpolated:
		each(n.Parts)
	case *ArrayLit:
		each(n.Items)
	case *MapLit:
		each(n.Values)
	case *Unary:
		Walk(n.X, visit)
	case *Binary:
		Walk(n.X, visit)
		Walk(n.Y, visit)
	case *Call:
		each(n.Args)
	case *Chain:
		Walk(n.Root, visit)
		for _, s := range n.Steps {
			each(s.Args)
			Walk(s.Index, visit)
		}
	case *Block:
		each(n.Body)
	case *If:
		Walk(n.Cond, visit)
		block(n.Then)
		Walk(n.Else, visit)
	case *Switch:
		Walk(n.X, visit)
		for _, c := range n.Cases {
			Walk(c.Cond, visit)
			Walk(c.Body, visit)
		}
		Walk(n.Default, visit)
	case *While:
		Walk(n.Cond, visit)
		block(n.Body)
	case *Do:
		block(n.Body)
		Walk(n.Cond, visit)
	case *For:
		Walk(n.X, visit)
		block(n.Body)
	case *Closure:
		block(n.Fn.Body)
	case *Custom:
		each(n.Inputs)
	case *Let:
		Walk(n.Init, visit)
	case *Assign:
		Walk(n.Target, visit)
		Walk(n.Value, visit)
	case *Break:
		Walk(n.Value, visit)
	case *Return:
		Walk(n.Value, visit)
	case *Throw:
		Walk(n.Value, visit)
	case *Try:
		block(n.Body)
		block(n.Catch)
	case *Import:
		Walk(n.Path, visit)
	}
}

// isNil reports an absent node, also one of a nil pointer in an interface.
func isNil(n Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *Block:
		return n == nil
	case *If:
		return n == nil
	}
	return false
}
