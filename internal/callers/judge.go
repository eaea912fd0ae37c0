package callers

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
)

// unjudgedFor is how long it counts that NATS takes any credentials. That it does not is remembered forever.
const unjudgedFor = time.Minute

// judgement is what NATS does with credentials.
type judgement struct {
	err   error
	until time.Time // zero: not known
}

// Judges reports whether NATS looks at credentials: nil means yes. It returns ErrUnjudged if NATS takes made-up ones: the server has no users,
// or it recognizes the gateway by something else than credentials, such as its certificate. Other errors are those of NATS.
func (c *Callers) Judges() error {
	if c.closing() {
		return nats.ErrConnectionClosed
	}
	return c.judges()
}

func (c *Callers) judges() error {
	c.judging.Lock()
	defer c.judging.Unlock()
	now := c.config.Now()
	if c.judged.until.IsZero() || c.judged.err != nil && !now.Before(c.judged.until) {
		c.judged.err = c.tryNobody()
		c.judged.until = now.Add(unjudgedFor)
		if c.judged.err != nil && !errors.Is(c.judged.err, ErrUnjudged) {
			c.judged.until = now // it says nothing
		}
	}
	return c.judged.err
}

// tryNobody shows NATS credentials that nobody has.
func (c *Callers) tryNobody() error {
	nobody := newUser(c.config.Now())
	err := nobody.connect(c.config.Dial, &c.questions, Credentials{user: "nobody-" + uuid.NewString(), password: uuid.NewString()})
	nobody.ready(err, c.config.Now())
	nobody.close()
	switch {
	case errors.Is(err, ErrRefused):
		return nil
	case err == nil:
		return ErrUnjudged
	}
	return err
}

func (c *Callers) closing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
