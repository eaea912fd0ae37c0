package cronjob

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/internal/yamltext"
)

// Kinds of objects of Kubernetes.
const (
	kindCronJob     = "CronJob"
	kindCronJobList = "CronJobList"
	kindList        = "List"
)

// longestID is how many bytes an ID made of the names of a CronJob may have. Longer ones are cut.
const longestID = 200

// Parse reads the objects of a YAML or JSON text as Kubernetes does. Each object is an entry. An object that is no CronJob has a
// problem. The schedules get actions of the given type.
func Parse(data []byte, actionType string) []importer.Entry {
	r := reader{actionType: actionType}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if text := bytes.TrimSpace(data); len(text) > 0 && (text[0] == '{' || text[0] == '[') && r.json(text) {
		return r.all
	}
	r.all = nil
	documents := 0
	for document := range yamltext.Documents(string(data)) {
		text, err := yaml.YAMLToJSONStrict([]byte(document.Text))
		if err != nil {
			_, err = yaml.YAMLToJSONStrict([]byte(document.Placed())) // again, for the number of the line
		}
		if err == nil && string(text) == "null" {
			continue
		}
		documents++
		from := fmt.Sprintf("document %d", documents)
		if err != nil {
			r.leaveOut(from, fmt.Errorf("is not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: ")))
			continue
		}
		r.value(from, "", text)
	}
	return r.all
}

// reader collects the entries.
type reader struct {
	actionType string
	all        []importer.Entry
}

func (r *reader) leaveOut(from string, problem error) {
	r.all = append(r.all, importer.Entry{From: from, Problem: problem})
}

// json reads a sequence of JSON texts, and reports whether the text is one.
func (r *reader) json(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for i := 1; ; i++ {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return false
		}
		r.value(fmt.Sprintf("document %d", i), "", value)
	}
}

// value reads an object or a list. The kind is for an object that names none.
func (r *reader) value(from, kind string, text json.RawMessage) {
	if bytes.HasPrefix(text, []byte("[")) {
		var items []json.RawMessage
		if err := json.Unmarshal(text, &items); err != nil {
			r.leaveOut(from, err)
			return
		}
		r.items(from, kind, items)
		return
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		r.leaveOut(from, errors.New("is no object of Kubernetes"))
		return
	}
	var said string
	if err := json.Unmarshal(fields["kind"], &said); err != nil && len(fields["kind"]) > 0 {
		r.leaveOut(from, errors.New("kind: must be text"))
		return
	}
	said = cmp.Or(said, kind)
	items, isList := fields["items"]
	switch {
	case said == kindCronJobList, said == kindList, said == "" && isList:
		r.list(from, said, items)
	default:
		r.object(from, said, text, fields)
	}
}

// list reads the items of a list. Items of a CronJobList are CronJobs even if they do not say so.
func (r *reader) list(from, kind string, text json.RawMessage) {
	var items []json.RawMessage
	if len(text) > 0 {
		if err := json.Unmarshal(text, &items); err != nil {
			r.leaveOut(from, fmt.Errorf("items: must be a list"))
			return
		}
	}
	itemKind := ""
	if kind == kindCronJobList {
		itemKind = kindCronJob
	}
	r.items(from, itemKind, items)
}

func (r *reader) items(from, kind string, items []json.RawMessage) {
	for i, item := range items {
		r.value(fmt.Sprintf("%s, item %d", from, i+1), kind, item)
	}
}

// object reads a single object.
func (r *reader) object(from, kind string, text json.RawMessage, fields map[string]json.RawMessage) {
	var j job
	metadata := json.Unmarshal([]byte(cmp.Or(string(fields["metadata"]), "{}")), &j.Metadata)
	switch name := j.name(); {
	case kind == "":
		r.leaveOut(from, errors.New("has no kind"))
		return
	case name != "":
		from = kind + " " + name
	default:
		from = fmt.Sprintf("%s, a %s", from, kind)
	}
	s := importer.Entry{From: from}
	switch isCronJob, err := isCronJob(kind, fields["apiVersion"]); {
	case err != nil:
		s.Problem = err
	case !isCronJob:
		s.Problem = errors.New("is no CronJob of Kubernetes")
	case metadata != nil:
		s.Problem = metadataProblem(metadata)
	default:
		s.Problem = j.read(text, &s, r.actionType)
	}
	r.all = append(r.all, s)
}

// metadataProblem describes an error about the type of a field. In YAML as Kubernetes reads it, a bare y or no is a boolean.
func metadataProblem(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("metadata: %w", err)
	}
	expected := "text in quotes"
	if kind := wrong.Type.Kind(); kind == reflect.Map || kind == reflect.Struct {
		expected = "an object"
	}
	return fmt.Errorf("%s: must be %s, not %s", strings.TrimSuffix("metadata."+wrong.Field, "."), expected, wrong.Value)
}

// isCronJob checks kind and group. An object without a version counts as an object of Kubernetes.
func isCronJob(kind string, version json.RawMessage) (bool, error) {
	var said string
	if err := json.Unmarshal(version, &said); err != nil && len(version) > 0 {
		return false, errors.New("apiVersion: must be text")
	}
	return kind == kindCronJob && (said == "" || strings.HasPrefix(said, "batch/")), nil
}

// read reads the rest of a CronJob strictly: a field that Kubernetes does not know is an error, as it is in Kubernetes.
func (j *job) read(text json.RawMessage, s *importer.Entry, actionType string) error {
	var object struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Metadata   json.RawMessage `json:"metadata"`
		Spec       jobSpec         `json:"spec"`
		Status     json.RawMessage `json:"status"`
	}
	if err := apitext.DecodeJSON(text, &object); err != nil {
		return err
	}
	j.Spec = object.Spec
	id := importer.Slug(j.name(), len(j.name()))
	if len(id) > longestID {
		id = importer.Slug(j.name(), longestID)
		s.Note("the ID is cut to %d bytes", longestID)
	}
	s.ID = cmp.Or(id, "cronjob")
	return j.schedule(s, actionType)
}
