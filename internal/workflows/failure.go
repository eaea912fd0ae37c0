package workflows

import (
	"bytes"
	"encoding/json"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/payload"
	"github.com/carillon-scheduler/carillon/schedule"
)

// maxDetails bounds the details of a failure. The invoker drops larger ones.
const maxDetails = 60 << 10

// details are the details of the failure of a workflow: the failure as Temporal has it, for the next run.
type details struct {
	TemporalFailure json.RawMessage `json:"temporalFailure"`
}

// failureOf returns a failure of Temporal as people and other runs see it. The message is that of the failure and of its causes, the type
// that of the first error of an application among them.
func failureOf(f *failurepb.Failure) *schedule.Failure {
	if f == nil {
		return &schedule.Failure{Type: string(schedule.StatusFailed), Message: "the workflow gave no reason"}
	}
	var messages []string
	failure := &schedule.Failure{Type: string(schedule.StatusFailed)}
	named := false
	for cause := f; cause != nil; cause = cause.GetCause() {
		if message := cause.GetMessage(); message != "" {
			messages = append(messages, message)
		}
		if name := cause.GetApplicationFailureInfo().GetType(); name != "" && !named {
			failure.Type, named = name, true
		}
	}
	failure.Message, failure.Details = strings.Join(messages, ": "), detailsOf(f)
	return failure
}

// detailsOf returns a failure as JSON; nothing if it is too large.
func detailsOf(f *failurepb.Failure) json.RawMessage {
	text, err := protojson.Marshal(f)
	if err != nil {
		return nil // a text is not UTF-8
	}
	var plain bytes.Buffer
	if json.Compact(&plain, text) != nil {
		return nil
	}
	all, err := jsontext.Encode(details{TemporalFailure: plain.Bytes()})
	if err != nil || len(all) > maxDetails {
		return nil
	}
	return all
}

// continued returns the failure that the next run is told of.
func continued(f *schedule.Failure) *failurepb.Failure {
	if f == nil {
		return nil
	}
	var own details
	if json.Unmarshal(f.Details, &own) == nil && len(own.TemporalFailure) > 0 {
		var failure failurepb.Failure
		if protojson.Unmarshal(own.TemporalFailure, &failure) == nil {
			return &failure
		}
	}
	info := &failurepb.ApplicationFailureInfo{Type: f.Type}
	if len(f.Details) > 0 {
		info.Details = &commonpb.Payloads{Payloads: []*commonpb.Payload{fromPlain(payload.JSON(f.Details))}}
	}
	return &failurepb.Failure{
		Message: f.Message, FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: info},
	}
}
