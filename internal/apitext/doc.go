// Package apitext reads and writes what people and programs hand in: JSON, YAML and msgpack, strictly, with errors that name the
// path of the field at fault.
//
// All three have the same rules, those of [DecodeJSON]: the others are turned into JSON first. What the values mean, and whether they
// are valid, is up to package schedule.
//
// It imports schedule, internal/codec, internal/jsontext, internal/suggest and internal/yamltext. The frontend, the client, the
// command line and tools may import it.
package apitext
