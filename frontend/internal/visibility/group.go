package visibility

import (
	"encoding/json"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// groupOf returns a group as a client of Temporal expects it: the value is a payload with its type, and a status is its name.
func groupOf(by *query.Field, g search.Group) *workflowservice.CountWorkflowExecutionsResponse_AggregationGroup {
	payload := &common.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}}
	value, kind := any(nil), enums.INDEXED_VALUE_TYPE_KEYWORD
	switch g.Value.Kind {
	case query.Text:
		value = g.Value.Text
	case query.Int:
		value, kind = g.Value.Int, enums.INDEXED_VALUE_TYPE_INT
		if by.Name == query.ExecutionStatus && by.Source == query.Execution {
			value, kind = enums.WorkflowExecutionStatus(g.Value.Int).String(), enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	case query.Double:
		value, kind = g.Value.Double, enums.INDEXED_VALUE_TYPE_DOUBLE
	case query.Boolean:
		value, kind = g.Value.Bool, enums.INDEXED_VALUE_TYPE_BOOL
	case query.Time:
	}
	if value == nil {
		payload.Metadata["encoding"] = []byte("binary/null")
	} else {
		payload.Data, _ = json.Marshal(value) // these are plain values, and no number is infinite
	}
	payload.Metadata["type"] = []byte(kind.String())
	return &workflowservice.CountWorkflowExecutionsResponse_AggregationGroup{Count: g.Count, GroupValues: []*common.Payload{payload}}
}
