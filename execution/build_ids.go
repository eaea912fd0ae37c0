package execution

import (
	"encoding/json"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

const (
	// buildIDs is the search attribute with the build IDs of the workers that had a hand in a run.
	buildIDs = "BuildIds"
	// unversioned stands first in its value, and before each build ID: tasks are not routed by them.
	unversioned = "unversioned"
)

// WithBuildID returns the search attributes of a run after a worker has completed a workflow task of it, and whether they have changed. As with
// Temporal, BuildIds is a list of keywords: "unversioned", and "unversioned:ID" for each build ID that a worker has named, the newest last. Of more
// than 20 the oldest go. A worker that names none leaves no trace. fields is not changed; the result may be fields.
func WithBuildID(
	fields map[string]*commonpb.Payload, completed *historypb.WorkflowTaskCompletedEventAttributes,
) (after map[string]*commonpb.Payload, changed bool) {
	id := completed.GetWorkerVersion().GetBuildId() //lint:ignore SA1019 workers still send it
	if id == "" {
		return fields, false
	}
	values := []string{unversioned}
	if before := fields[buildIDs]; before != nil && json.Unmarshal(before.GetData(), &values) != nil {
		return fields, false // a client has given it another form
	}
	value := unversioned + ":" + id
	if slices.Contains(values, value) {
		return fields, false
	}
	values = append(values, value)
	if more := len(values) - 1 - maxResetPoints; more > 0 {
		values = slices.Delete(values, 1, 1+more)
	}
	data, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts can be encoded
	}
	return merged(fields, map[string]*commonpb.Payload{buildIDs: {
		Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("KeywordList")}, Data: data,
	}}), true
}
