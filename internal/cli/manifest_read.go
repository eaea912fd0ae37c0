package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/apitext"
)

// manifestReader reads the schedules of one file.
type manifestReader struct {
	file, namespace string
	found           []manifest
	problems        []error
	// described says that the file holds output of describe.
	described bool
}

// description is the output of describe. Its computed parts stay undecoded.
type description struct {
	Namespace string `json:"namespace"`
	manifest
	Info          json.RawMessage `json:"info"`
	ConflictToken json.RawMessage `json:"conflictToken"`
}

func (r *manifestReader) read(env Env) {
	data, err := env.readInput(r.file)
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("%s: %w", r.file, err))
		return
	}
	count := 0
	failed := map[int]error{}
	for document, err := range apitext.YAMLDocuments(data) {
		count++
		var m manifest
		if err == nil {
			m, err = r.document(document)
		}
		if err != nil {
			failed[count] = err
			continue
		}
		r.found = append(r.found, m)
	}
	for _, i := range slices.Sorted(maps.Keys(failed)) {
		err := failed[i]
		if count > 1 {
			err = fmt.Errorf("document %d: %w", i, err)
		}
		r.problems = append(r.problems, fmt.Errorf("%s: %w", r.file, err))
	}
}

// document reads one schedule. A field in the file counts even if it has the default value.
func (r *manifestReader) document(text json.RawMessage) (m manifest, err error) {
	fields := fieldsOf(text)
	m.file = r.file
	switch {
	case fields["schedules"] != nil:
		return m, errors.New("schedules: this is a list: carillon schedule export writes the files")
	case fields["info"] != nil || fields["conflictToken"] != nil || fields["namespace"] != nil:
		err = r.description(text, &m)
	default:
		err = apitext.DecodeJSON(text, &m)
	}
	if err != nil {
		return m, err
	}
	m.file, m.keepState = r.file, len(fieldsOf(fields["state"])) == 0
	if _, said := fieldsOf(fields["action"])["taskQueue"]; !said {
		m.Action.TaskQueue = defaultTaskQueue
	}
	return m, nil
}

// description reads the output of describe.
func (r *manifestReader) description(text json.RawMessage, m *manifest) error {
	var d description
	if err := apitext.DecodeJSON(text, &d); err != nil {
		return err
	}
	if d.Namespace != "" && d.Namespace != r.namespace {
		return fmt.Errorf("namespace: is %q, but the command is about %q: give --namespace %s, or remove the field",
			d.Namespace, r.namespace, d.Namespace)
	}
	r.described = true
	*m = d.manifest
	return nil
}

// fieldsOf returns the fields of an object that are not null. It returns none for a value that is no object.
func fieldsOf(text json.RawMessage) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	return fields
}
