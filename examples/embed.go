// Package examples holds schedules to learn from, and to start with.
//
// The package imports nothing of Carillon.
package examples

import _ "embed"

// Demo is demo.yaml: the schedules of "carillon server --demo", one YAML document for each.
//
//go:embed demo.yaml
var Demo []byte
