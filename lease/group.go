package lease

// InGroups has what comes dealt with in groups: all that is there at a moment, up to
// most. It returns when from is closed.
func InGroups[E any](from <-chan E, most int, deal func([]E)) {
	for e := range from {
		deal(group(e, from, most))
	}
}

func group[E any](first E, from <-chan E, most int) []E {
	list := append(make([]E, 0, 16), first)
	for len(list) < most {
		select {
		case e, open := <-from:
			if !open {
				return list
			}
			list = append(list, e)
		default:
			return list
		}
	}
	return list
}
