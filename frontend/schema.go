package frontend

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/carillon-scheduler/carillon/frontend/internal/calendars"
	"github.com/carillon-scheduler/carillon/frontend/internal/schedules"
	"github.com/carillon-scheduler/carillon/schedule"
)

// schemas returns the JSON schemas of the request and the reply of a verb.
func (h *handler) schemas() (request, reply string, err error) {
	asked, answered, err := h.forms()
	if err != nil {
		return "", "", err
	}
	texts := [2]string{}
	for i, form := range []*jsonschema.Schema{asked, answered} {
		text, err := json.Marshal(form)
		if err != nil {
			return "", "", fmt.Errorf("schemas of %s and %s: %w", h.request, h.reply, err)
		}
		texts[i] = string(text)
	}
	return texts[0], texts[1], nil
}

// forms returns the same as values.
func (h *handler) forms() (request, reply *jsonschema.Schema, err error) {
	if request, err = requestSchema(h.request); err != nil {
		return nil, nil, err
	}
	reply, err = replySchema(h.reply)
	return request, reply, err
}

// requestSchema returns the JSON schema of a type that the API reads. It requires only what can never be left out. The schema
// says nothing of null, which the API treats as absent; the documentation does.
func requestSchema(t reflect.Type) (*jsonschema.Schema, error) {
	return schemaOf(t, func(s *jsonschema.Schema) {
		s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return hasZero(s.Properties[name]) })
	})
}

// hasZero reports whether a property may be left out although nothing says so: a number is 0 then, and an object that requires
// nothing is empty.
func hasZero(s *jsonschema.Schema) bool {
	switch s.Type {
	case "integer", "number", "boolean":
		return true
	case "object":
		return len(s.Required) == 0
	}
	return false
}

// replySchema returns the JSON schema of a type that the API writes. A later release may add properties.
func replySchema(t reflect.Type) (*jsonschema.Schema, error) {
	return schemaOf(published(t), func(s *jsonschema.Schema) {
		if len(s.Properties) > 0 {
			s.AdditionalProperties = nil
		}
	})
}

// publishedAs maps the replies with encoded lists to the types that callers know.
var publishedAs = map[reflect.Type]reflect.Type{
	reflect.TypeFor[schedules.ListReply]():    reflect.TypeFor[schedule.ListReply](),
	reflect.TypeFor[calendars.ListReply]():    reflect.TypeFor[schedule.ListCalendarsReply](),
	reflect.TypeFor[schedules.HistoryReply](): reflect.TypeFor[schedule.HistoryReply](),
	reflect.TypeFor[schedules.RunsReply]():    reflect.TypeFor[schedule.RunsReply](),
	reflect.TypeFor[schedules.RunReply]():     reflect.TypeFor[schedule.RunReply](),
}

// published returns the type by which callers know a reply.
func published(t reflect.Type) reflect.Type {
	if known, ok := publishedAs[t]; ok {
		return known
	}
	return t
}

// schemaOf returns the schema of a type. Types with a name of their own occur in it once, under $defs.
func schemaOf(t reflect.Type, adapt func(*jsonschema.Schema)) (*jsonschema.Schema, error) {
	root, err := inferred(t)
	if err != nil {
		return nil, err
	}
	adaptAll(root, adapt)
	defs := map[string]*jsonschema.Schema{}
	for open := references(root); len(open) > 0; {
		name := open[0]
		open = open[1:]
		if defs[name] != nil {
			continue
		}
		if defs[name], err = definition(name); err != nil {
			return nil, err
		}
		adaptAll(defs[name], adapt)
		open = append(open, references(defs[name])...)
	}
	if len(defs) > 0 {
		root.Defs = defs
	}
	return root, nil
}

// definition returns the schema of a type that has a name.
func definition(name string) (*jsonschema.Schema, error) {
	t := named[name]
	if text := texts[t]; text != nil {
		return text.CloneSchemas(), nil
	}
	return inferred(t)
}

// inferred returns the schema of a type. It refers to all other types that have a name.
func inferred(t reflect.Type) (*jsonschema.Schema, error) {
	types := maps.Clone(unnamed)
	for name, other := range named {
		if other != t {
			types[other] = &jsonschema.Schema{Ref: refPrefix + name}
		}
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	return s, nil
}

const refPrefix = "#/$defs/"

// references returns the names of the types that a schema refers to.
func references(s *jsonschema.Schema) (names []string) {
	adaptAll(s, func(part *jsonschema.Schema) {
		if name, ok := strings.CutPrefix(part.Ref, refPrefix); ok {
			names = append(names, name)
		}
	})
	return names
}

// adaptAll adapts a schema and those within it, the innermost first. Lists and pointers are never null.
func adaptAll(s *jsonschema.Schema, adapt func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	for _, property := range s.Properties {
		adaptAll(property, adapt)
	}
	adaptAll(s.Items, adapt)
	adaptAll(s.AdditionalProperties, adapt)
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if s.Ref != "" {
		s.Type, s.Types = "", nil
	}
	adapt(s)
}
