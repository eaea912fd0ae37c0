package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// subjectsOf asks the leader of a stream for the subjects that have messages and match a filter. It is what nats.go does for
// jetstream.WithSubjectFilter, without a map of them, of which there may be 100,000. Where there are more, rest is true.
func subjectsOf(ctx context.Context, js jetstream.JetStream, stream, filter string) (names []string, rest bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	reply, err := bus.Ask(ctx, js, "STREAM.INFO."+stream, map[string]string{"subjects_filter": filter})
	if err != nil {
		return nil, false, err
	}
	return parseSubjects(reply.Data)
}

func parseSubjects(data []byte) (names []string, rest bool, err error) {
	var info struct {
		Error *jetstream.APIError `json:"error"`
		// Total is how many subjects there are, in this answer and beyond.
		Total int `json:"total"`
		State *struct {
			Subjects subjectNames `json:"subjects"`
		} `json:"state"`
	}
	switch err := json.Unmarshal(data, &info); {
	case err != nil:
		return nil, false, err
	case info.Error != nil:
		return nil, false, info.Error
	case info.State == nil:
		return nil, false, errors.New("the answer holds no state of the stream and no error")
	case info.Total > len(info.State.Subjects):
		return nil, true, nil
	}
	return info.State.Subjects, false, nil
}

// subjectNames are the names of an object whose values do not matter.
type subjectNames []string

// UnmarshalJSON gets valid JSON. A subject of Carillon has no character that JSON would escape; where there is one after all,
// the library takes the object apart.
func (n *subjectNames) UnmarshalJSON(data []byte) error {
	if bytes.IndexByte(data, '\\') >= 0 || bytes.ContainsAny(data[:1], "n[") {
		return n.unmarshalAny(data)
	}
	for {
		begin := bytes.IndexByte(data, '"')
		if begin < 0 {
			return nil
		}
		data = data[begin+1:]
		end := bytes.IndexByte(data, '"')
		if end < 0 {
			return fmt.Errorf("a name without an end: %.40q", data)
		}
		*n = append(*n, string(data[:end]))
		data = data[end+1:]
	}
}

func (n *subjectNames) unmarshalAny(data []byte) error {
	var counts map[string]uint64
	if err := json.Unmarshal(data, &counts); err != nil {
		return err
	}
	for name := range counts {
		*n = append(*n, name)
	}
	return nil
}
