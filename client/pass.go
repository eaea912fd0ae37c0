package client

import (
	"context"
	"encoding/json"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Pass passes on a request that somebody else has written: the body of a verb, as JSON, about a thing of package subjects, such as "create" for
// [subjects.ThingSchedule]. It returns the body of the reply. The namespace may be [subjects.NoNamespace]. Like the other methods, Pass sends a
// request again when there is no answer, so a request that changes something must have a requestId where its verb takes one.
func (c *Client) Pass(ctx context.Context, namespace, thing, verb string, body json.RawMessage) (json.RawMessage, error) {
	if namespace != subjects.NoNamespace {
		if err := schedule.ValidateNamespace(namespace); err != nil {
			return nil, err
		}
	}
	return call[json.RawMessage](ctx, c, c.names.API(namespace, thing, verb), body)
}
