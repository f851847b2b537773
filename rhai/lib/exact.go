package lib

import "math"

// This file computes elementary functions to the last digit: Go's own are a
// digit off for every third argument, the C library that scripts have been
// written against is for one in a thousand. Each function improves the answer
// of package math by one step of Newton's with sines and exponentials that are
// good to about 70 bits. Where package math knows better (infinities, NaN,
// huge angles) its answer stands.

// sum is a number as the sum of two floats, of which lo is less than half a
// digit of hi.
type sum struct{ hi, lo float64 }

// float rounds to one float.
func (a sum) float() float64 { return a.hi + a.lo }

// add2 gives x + y exactly.
func add2(x, y float64) sum {
	s := x + y
	v := s - x
	return sum{s, (x - (s - v)) + (y - v)}
}

// mul2 gives x * y exactly.
func mul2(x, y float64) sum {
	p := x * y
	return sum{p, math.FMA(x, y, -p)}
}

func (a sum) add(b sum) sum {
	s := add2(a.hi, b.hi)
	return add2(s.hi, s.lo+a.lo+b.lo)
}

func (a sum) neg() sum { return sum{-a.hi, -a.lo} }

func (a sum) sub(b sum) sum { return a.add(b.neg()) }

func (a sum) mul(b sum) sum {
	p := mul2(a.hi, b.hi)
	return add2(p.hi, p.lo+a.hi*b.lo+a.lo*b.hi)
}

// of makes a sum of one float.
func of(x float64) sum { return sum{x, 0} }

// reduced gives x - k*unit, where x is near to k*unit.
func reduced(x, k float64, unit *[3]float64) sum {
	p, q := mul2(k, unit[0]), mul2(k, unit[1])
	s := add2(x-p.hi, -p.lo)
	t := add2(s.hi, -q.hi)
	return add2(t.hi, t.lo+s.lo-q.lo-k*unit[2])
}

// mostAngle is up to where angles are reduced exactly.
const mostAngle = 1 << 30

// sineCosine gives sin x and cos x for |x| <= mostAngle.
func sineCosine(x float64) (sine, cosine sum) {
	k := math.RoundToEven(x * (32 / math.Pi))
	r := reduced(x, k, &pi32)
	z := r.mul(r)
	w := z.hi
	s := r.add(r.mul(z).mul(sum{-1.0 / 6, -0x1.5555555555555p-57})).
		add(of(r.hi * w * w * (1.0/120 - w*(1.0/5040-w*(1.0/362880-w/39916800)))))
	c := of(1).sub(sum{z.hi / 2, z.lo / 2}).
		add(of(w * w * (1.0/24 - w*(1.0/720-w*(1.0/40320-w/3628800)))))
	i := int64(k)
	a, b := tableSine(i), tableSine(i+16)
	return a.mul(c).add(b.mul(s)), b.mul(c).sub(a.mul(s))
}

// tableSine gives sin(i*pi/32).
func tableSine(i int64) sum {
	i &= 63
	switch {
	case i > 48:
		return sines[64-i].neg()
	case i > 32:
		return sines[i-32].neg()
	case i > 16:
		return sines[32-i]
	}
	return sines[i]
}

// exponential gives e**x as m * 2**n for |x| < 1000.
func exponential(x sum) (m sum, n int) {
	k := math.RoundToEven(x.hi * (32 / math.Ln2))
	r := reduced(x.hi, k, &ln32).add(of(x.lo))
	z := r.mul(r)
	w := r.hi
	p := of(1).add(r).add(sum{z.hi / 2, z.lo / 2}).
		add(of(w * w * w * (1.0/6 + w*(1.0/24+w*(1.0/120+w*(1.0/720+w*(1.0/5040+w/40320)))))))
	return powers[int64(k)&31].mul(p), int(int64(k) >> 5)
}

// logarithm gives ln x for a normal x > 0.
func logarithm(x float64) sum {
	y := math.Log(x)
	m, n := exponential(of(-y))
	// x * e**-y is 1 + d, and d is less than a digit of y.
	d := of(math.Ldexp(x, n)).mul(m).sub(of(1))
	return of(y).add(d)
}

const leastNormal = 0x1p-1022

// normal reports that x is neither 0 nor smaller than floats can keep all
// digits of, nor infinite, nor NaN.
func normal(x float64) bool { return math.Abs(x) >= leastNormal && math.Abs(x) <= math.MaxFloat64 }

// small reports that sin x and tan x are x.
func small(x float64) bool { return math.Abs(x) < 0x1p-28 }

func angle(x float64) bool { return math.Abs(x) <= mostAngle && !small(x) }

func sin(x float64) float64 {
	if !angle(x) {
		return math.Sin(x)
	}
	s, _ := sineCosine(x)
	return s.float()
}

func cos(x float64) float64 {
	if !angle(x) {
		return math.Cos(x)
	}
	_, c := sineCosine(x)
	return c.float()
}

func tan(x float64) float64 {
	if !angle(x) {
		return math.Tan(x)
	}
	s, c := sineCosine(x)
	t := s.hi / c.hi
	return t + s.sub(c.mul(of(t))).float()/c.hi
}

func asin(x float64) float64 {
	y := math.Asin(x)
	if small(x) || !(math.Abs(x) < 1) {
		return y
	}
	s, c := sineCosine(y)
	return y + of(x).sub(s).float()/c.hi
}

func acos(x float64) float64 {
	y := math.Acos(x)
	if !(math.Abs(x) < 1) {
		return y
	}
	s, c := sineCosine(y)
	return y + c.sub(of(x)).float()/s.hi
}

func atan(x float64) float64 {
	y := math.Atan(x)
	if small(x) || !normal(x) {
		return y
	}
	s, c := sineCosine(y)
	return y + of(x).mul(c).sub(s).float()/(c.hi+x*s.hi)
}

func atan2(y, x float64) float64 {
	a := math.Atan2(y, x)
	if !middling(x) || !middling(y) || small(a) {
		return a
	}
	s, c := sineCosine(a)
	return a + of(y).mul(c).sub(of(x).mul(s)).float()/(x*c.hi+y*s.hi)
}

// middling reports that the square of x is a float without loss.
func middling(x float64) bool { return math.Abs(x) > 0x1p-450 && math.Abs(x) < 0x1p500 }

func hypot(x, y float64) float64 {
	h := math.Hypot(x, y)
	if !middling(x) || !middling(y) {
		return h
	}
	d := mul2(x, x).sub(mul2(h, h)).add(mul2(y, y))
	return h + d.float()/(2*h)
}

func exp(x float64) float64 {
	if math.Abs(x) < 0x1p-54 || !(math.Abs(x) < 708) {
		return math.Exp(x)
	}
	m, n := exponential(of(x))
	return math.Ldexp(m.float(), n)
}

func ln(x float64) float64 {
	if x < leastNormal || !normal(x) || x == 1 {
		return math.Log(x)
	}
	return logarithm(x).float()
}

func pow(x, y float64) float64 {
	switch {
	case y == 2:
		return x * x
	case x == 1 || !normal(x) || !normal(y):
		return math.Pow(x, y)
	}
	sign := 1.0
	if x < 0 {
		if y != math.Trunc(y) {
			return math.NaN()
		}
		if math.Mod(y, 2) != 0 {
			sign = -1
		}
	}
	p := logarithm(math.Abs(x)).mul(of(y))
	if !(math.Abs(p.hi) < 708) {
		return math.Pow(x, y)
	}
	m, n := exponential(p)
	return sign * math.Ldexp(m.float(), n)
}

// The functions below are off by a digit in the C library too, and by the same
// one when they take the same way.

// log10 takes the way of Sun's fdlibm.
func log10(x float64) float64 {
	if x < leastNormal || !normal(x) {
		return math.Log10(x)
	}
	const (
		ivln10   = 0x1.bcb7b1526e50ep-2
		log10of2 = 0x1.34413509f6p-2
		rest     = 0x1.9fef311f12b36p-42
	)
	m, e := math.Frexp(x) // 0.5 <= m < 1
	if e > 0 {            // 1 <= m < 2 for x >= 1
		m, e = 2*m, e-1
	}
	k := float64(e)
	return k*rest + ivln10*ln(m) + k*log10of2
}

// sinh takes the way of fdlibm, as cosh and tanh do.
func sinh(x float64) float64 {
	h, a := math.Copysign(0.5, x), math.Abs(x)
	switch {
	case small(x):
		return x
	case !(a < 708):
		return math.Sinh(x)
	case a < 1:
		t := math.Expm1(a)
		return h * (2*t - t*t/(t+1))
	case a < 22:
		t := math.Expm1(a)
		return h * (t + t/(t+1))
	}
	return h * exp(a)
}

func cosh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a < 708):
		return math.Cosh(x)
	case a < 0.5*math.Ln2:
		t := math.Expm1(a)
		return 1 + t*t/(2*(1+t))
	case a < 22:
		t := exp(a)
		return 0.5*t + 0.5/t
	}
	return 0.5 * exp(a)
}

func tanh(x float64) float64 {
	a, z := math.Abs(x), 0.0
	switch {
	case !(a < 22) || a < 0x1p-55:
		return math.Tanh(x)
	case a >= 1:
		z = 1 - 2/(math.Expm1(2*a)+2)
	default:
		t := math.Expm1(-2 * a)
		z = -t / (t + 2)
	}
	return math.Copysign(z, x)
}

// asinh takes the way of Rust's library, as acosh and atanh do.
func asinh(x float64) float64 {
	a := math.Abs(x)
	inverse := 1 / a
	return math.Copysign(math.Log1p(a+a/(hypot(1, inverse)+inverse)), x)
}

func acosh(x float64) float64 {
	if x < 1 {
		return math.NaN()
	}
	return ln(x + math.Sqrt(x-1)*math.Sqrt(x+1))
}

func atanh(x float64) float64 { return 0.5 * math.Log1p(2*x/(1-x)) }
