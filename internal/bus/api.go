package bus

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// answerTimeout bounds the wait for an answer of JetStream.
const answerTimeout = 5 * time.Second

// ForAnswer returns a context for one question to JetStream: it ends with ctx, and after five seconds at the latest. Nobody answers while a stream has no leader, and what
// a server was asked that has died is never answered. The client library bounds a question only if its context has no deadline at all, so every question whose
// context may have one needs this, or it waits as long as its caller would. The caller calls cancel.
func ForAnswer(ctx context.Context) (limited context.Context, cancel context.CancelFunc) {
	return context.WithTimeout(ctx, answerTimeout)
}

// Ask sends a request to the JetStream API that nats.go has no function for, and returns the answer, which may be a refusal. The verb is
// the subject without the prefix of the API, such as "STREAM.INFO.EVENTS". Ask waits until ctx ends; a ctx without an end waits forever. A trace of js is told
// of the request, as of those that nats.go makes.
func Ask(ctx context.Context, js jetstream.JetStream, verb string, request any) (*nats.Msg, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	options := js.Options()
	subject := APIPrefix(options) + verb
	if trace := options.ClientTrace; trace != nil && trace.RequestSent != nil {
		trace.RequestSent(subject, body)
	}
	return js.Conn().RequestWithContext(ctx, subject, body)
}

// APIPrefix returns the prefix of the subjects of the JetStream API for a connection with options. It ends with a dot.
func APIPrefix(options jetstream.JetStreamOptions) string {
	switch {
	case options.Domain != "":
		return "$JS." + options.Domain + ".API."
	case options.APIPrefix != "":
		return strings.TrimSuffix(options.APIPrefix, ".") + "."
	}
	return jetstream.DefaultAPIPrefix
}
