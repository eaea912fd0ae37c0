package client

import (
	"context"
	"encoding/json"
)

// Pass passes on a request that somebody else has written: the body of a verb, as JSON, about a thing of package subjects, such as "create" for
// [subjects.ThingSchedule]. It returns the body of the reply. The namespace may be [subjects.NoNamespace]. Like the other methods, Pass sends a
// request again when there is no answer, so a request that changes something must have a requestId where its verb takes one.
func (c *Client) Pass(ctx context.Context, namespace, thing, verb string, body json.RawMessage) (json.RawMessage, error) {
	return about[json.RawMessage](ctx, c, namespace, thing, verb, body)
}
