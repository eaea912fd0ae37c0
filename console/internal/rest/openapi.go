package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/schedule"
)

// object is a JSON object.
type object = map[string]any

// description is an OpenAPI document in the making.
type description struct {
	paths, schemas object
	// asked are the types with a name that requests have, as their schemas have them.
	asked object
}

// describe returns the OpenAPI document of all routes. The error says that two schemas of one name differ where they may not.
func describe(routes []*route, version string) ([]byte, error) {
	d := &description{paths: object{}, schemas: object{}, asked: object{}}
	for _, add := range []func(*route) error{d.addRequest, d.addReply} {
		for _, r := range routes {
			if err := add(r); err != nil {
				return nil, fmt.Errorf("rest: describe %s %s: %w", r.Method, r.Path, err)
			}
		}
	}
	for _, path := range watchPaths {
		d.at(path)["get"] = watchOperation(path)
	}
	d.schemas["Problem"] = problemSchema()
	whole := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Carillon", "version": version, "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Durable schedules and their runs. docs/http.md says what requests and answers mean.",
		},
		"servers":    []any{object{"url": Base}},
		"paths":      d.paths,
		"components": object{"schemas": d.schemas},
	}
	text, err := json.MarshalIndent(whole, "", "  ")
	return append(text, '\n'), err
}

// at returns the operations of a path, by method.
func (d *description) at(path string) object {
	if d.paths[path] == nil {
		d.paths[path] = object{}
	}
	return d.paths[path].(object)
}

// addRequest adds the operation of a route, but for what it answers.
func (d *description) addRequest(r *route) error {
	request, err := d.schema(r.verb.Request, func(name string, schema any) string {
		d.asked[name] = schema
		return name
	})
	if err != nil {
		return err
	}
	operation := object{
		"operationId": operationID(r), "summary": r.verb.Summary, "tags": []any{r.verb.Thing}, "parameters": r.parameters(request),
	}
	if r.hasBody() {
		operation["requestBody"] = object{"content": object{contentJSON: object{"schema": r.withoutParams(request)}}}
	}
	d.at(r.Path)[strings.ToLower(r.Method)] = operation
	return nil
}

// addReply adds what the operation of a route answers.
func (d *description) addReply(r *route) error {
	reply, err := d.reply(r.verb)
	d.at(r.Path)[strings.ToLower(r.Method)].(object)["responses"] = object{
		strconv.Itoa(r.Status): object{"description": "the answer", "content": object{contentJSON: object{"schema": reply}}},
		"default":              problemResponse(),
	}
	return err
}

// reply returns the schema of a reply. Those of one type are one component.
func (d *description) reply(verb *frontend.Verb) (object, error) {
	schema, err := d.schema(verb.Reply, func(name string, schema any) string {
		if asked, ok := d.asked[name]; ok && !reflect.DeepEqual(asked, schema) {
			return name + "Reply" // requests may leave out more
		}
		return name
	})
	if err != nil || verb.ReplyName == "" {
		return schema, err
	}
	if known, ok := d.schemas[verb.ReplyName]; ok && !reflect.DeepEqual(known, schema) {
		return nil, fmt.Errorf("there are two replies %s", verb.ReplyName)
	}
	d.schemas[verb.ReplyName] = schema
	return object{"$ref": sharedRefs + verb.ReplyName}, nil
}

// operationID is a name that no other operation has: a verb may have two routes, of which one is about the whole namespace.
func operationID(r *route) string {
	name := r.verb.Thing + "-" + r.verb.Name
	if r.takes("id") && !slices.Contains(r.params, "id") && r.Method == http.MethodGet {
		name += "-of-namespace"
	}
	return name
}

// parameters describes the parameters of a path, of the query and of the headers.
func (r *route) parameters(request object) []any {
	properties, _ := request["properties"].(object)
	all := []any{}
	add := func(name, in string, schema any) {
		all = append(all, object{"name": name, "in": in, "required": in == "path", "schema": schema})
	}
	if r.hasNamespace {
		add(paramNamespace, "path", object{"type": "string"})
	}
	for _, name := range r.params {
		add(name, "path", properties[name])
	}
	if !r.hasBody() {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if !slices.Contains(append(r.params, fieldToken, fieldRequest), name) {
				add(name, "query", properties[name])
			}
		}
	}
	if r.takes(fieldToken) {
		add(headerMatch, "header", object{"type": "string"})
	}
	if r.takes(fieldRequest) {
		add(headerIdempotency, "header", object{"type": "string"})
	}
	return all
}

// withoutParams returns the schema of a body, in which the parameters of the path may be left out.
func (r *route) withoutParams(request object) object {
	body := maps.Clone(request)
	required, _ := request["required"].([]any)
	required = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return slices.Contains(r.params, name.(string)) })
	delete(body, "required")
	if len(required) > 0 {
		body["required"] = required
	}
	return body
}

const (
	localRefs  = "#/$defs/"
	sharedRefs = "#/components/schemas/"
)

// schema returns a schema whose types with a name are in the components of the document, by the name that a function gives them.
func (d *description) schema(of *jsonschema.Schema, named func(name string, schema any) string) (object, error) {
	text, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	var whole object
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	defs, _ := whole["$defs"].(object)
	delete(whole, "$defs")
	names := map[string]string{}
	for name, schema := range defs {
		names[name] = named(name, schema)
	}
	for name, schema := range defs {
		shared, renamed := names[name], referring(schema, names)
		if known, ok := d.schemas[shared]; ok && !reflect.DeepEqual(known, renamed) {
			return nil, fmt.Errorf("there are two schemas %s", shared)
		}
		d.schemas[shared] = renamed
	}
	return referring(whole, names).(object), nil
}

// referring returns a part of a schema with references to the components of the document.
func referring(part any, names map[string]string) any {
	switch part := part.(type) {
	case object:
		changed := object{}
		for key, value := range part {
			if ref, ok := value.(string); ok && key == "$ref" {
				changed[key] = sharedRefs + names[strings.TrimPrefix(ref, localRefs)]
				continue
			}
			changed[key] = referring(value, names)
		}
		return changed
	case []any:
		changed := make([]any, len(part))
		for i := range part {
			changed[i] = referring(part[i], names)
		}
		return changed
	}
	return part
}

func problemResponse() object {
	return object{
		"description": "an error",
		"content":     object{contentProblem: object{"schema": object{"$ref": sharedRefs + "Problem"}}},
	}
}

func problemSchema() object {
	text := object{"type": "string"}
	values := []any{}
	for _, code := range slices.Sorted(slices.Values(refusal.Codes())) {
		values = append(values, string(code))
	}
	return object{
		"type": "object", "required": []any{"type", "title", "status", "detail", "code"},
		"properties": object{
			"type":   object{"type": "string", "description": "stands for the code, such as " + typeOf(schedule.CodeNotFound)},
			"title":  text,
			"status": object{"type": "integer"}, "detail": text,
			"code":       object{"type": "string", "enum": values},
			"field":      object{"type": "string", "description": "the field at fault, such as spec.intervals[0].every"},
			"retryAfter": object{"type": "string", "description": "a duration, such as 2s"},
		},
	}
}

func watchOperation(path string) object {
	parameters := []any{object{"name": paramNamespace, "in": "path", "required": true, "schema": object{"type": "string"}}}
	name, what := "events-watch-of-namespace", "the namespace"
	if strings.Contains(path, "{id}") {
		parameters = append(parameters, object{"name": "id", "in": "path", "required": true, "schema": object{"type": "string"}})
		name, what = "events-watch", "a schedule"
	}
	parameters = append(parameters, object{
		"name": headerLastEvent, "in": "header", "required": false, "schema": object{"type": "string"},
		"description": "go on after this event",
	})
	return object{
		"operationId": name, "summary": "Follow the events of " + what + " live, as server-sent events", "tags": []any{"schedule"}, "parameters": parameters,
		"responses": object{
			"200":     object{"description": "events without end", "content": object{contentEvents: object{"schema": object{"type": "string"}}}},
			"default": problemResponse(),
		},
	}
}
