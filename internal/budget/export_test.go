package budget

// KnownRefused is of how many addresses refusals are known.
func (b *Budget) KnownRefused() int {
	b.refused.mu.Lock()
	defer b.refused.mu.Unlock()
	return len(b.refused.until)
}
