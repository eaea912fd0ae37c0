package streamwatch

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ProbeResult is the result of a test whether a stream accepts writes.
type ProbeResult struct {
	// Missing is set if there is no such stream.
	Missing bool
	// Refused is why the stream accepts no writes, in the words of NATS; empty if it accepts them, or has not answered.
	Refused string
	// Silent is set if the stream has not answered: it has no leader, or the caller may not purge it.
	Silent bool
}

// OK reports whether the stream accepts writes.
func (o ProbeResult) OK() bool { return o == ProbeResult{} }

// nowhere is a subject on which no stream ever has a message.
const nowhere = "carillon-probe.nowhere"

// probeLimit limits one test.
const probeLimit = 3 * time.Second

// Probe tests whether a stream accepts writes. It stores and removes nothing.
func Probe(ctx context.Context, js jetstream.JetStream, stream string) ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(nowhere))
	}
	var refusal *jetstream.APIError
	switch {
	case err == nil:
		return ProbeResult{}
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return ProbeResult{Missing: true}
	case errors.As(err, &refusal) && refusal.Code >= 500 && refusal.Code != 503:
		return ProbeResult{Refused: refusal.Description}
	}
	return ProbeResult{Silent: true}
}
