package callers

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// An address may send failuresAtOnce wrong credentials at once, and one more every failurePause. Whoever guesses passwords has no better
	// chances than that; those whom NATS knows already are not hindered.
	failuresAtOnce = 20
	failurePause   = 2 * time.Second
	// maxAddresses is how many addresses are told apart. All others count as one.
	maxAddresses = 4096
)

// failures counts wrong credentials by the address they came from. The owner guards it.
type failures struct {
	of map[string]*address
}

// address is how many wrong credentials an address may still send. Those that are being looked at count as wrong.
type address struct {
	left   *rate.Limiter
	trying int
}

// begin reports whether further credentials from an address are looked at. If so, end must follow.
func (f *failures) begin(name string, now time.Time) (a *address, allowed bool) {
	if f.of[name] == nil && len(f.of) >= maxAddresses {
		f.forget(now)
		if len(f.of) >= maxAddresses {
			name = ""
		}
	}
	a = f.of[name]
	if a == nil {
		a = &address{left: rate.NewLimiter(rate.Every(failurePause), failuresAtOnce)}
		f.of[name] = a
	}
	if a.left.TokensAt(now) < float64(a.trying+1) {
		return nil, false
	}
	a.trying++
	return a, true
}

// end says what has become of credentials.
func (a *address) end(wrong bool, now time.Time) {
	a.trying--
	if wrong {
		a.left.AllowN(now, 1)
	}
}

// forget forgets the addresses that may send as many as at first.
func (f *failures) forget(now time.Time) {
	for name, a := range f.of {
		if a.trying == 0 && a.left.TokensAt(now) >= failuresAtOnce {
			delete(f.of, name)
		}
	}
}
