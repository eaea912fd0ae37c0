package bus

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Ask sends a request to the API of JetStream, for what nats.go does not offer, and returns the answer, which may be a refusal. The verb is
// what comes behind the prefix of the API, such as "STREAM.INFO.EVENTS". Without an end of ctx it waits forever.
func Ask(ctx context.Context, js jetstream.JetStream, verb string, request any) (*nats.Msg, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	return js.Conn().RequestWithContext(ctx, APIPrefix(js.Options())+verb, body)
}

// APIPrefix is what the subjects of the JetStream API begin with on a connection with options.
func APIPrefix(options jetstream.JetStreamOptions) string {
	switch {
	case options.Domain != "":
		return "$JS." + options.Domain + ".API."
	case options.APIPrefix != "":
		return strings.TrimSuffix(options.APIPrefix, ".") + "."
	}
	return jetstream.DefaultAPIPrefix
}
