// Package render writes what a user of the command line sees: aligned tables, the sections of a description, events as lines, and times,
// both absolute and relative to now.
//
// Everything is a pure function of its arguments: the caller gives the clock, the zone and whether to use colours. The output is for
// people. Programs use the JSON and YAML of the API, which other code produces.
//
// The package imports the types that it shows, from schedule, specproc/prose and internal packages. It never imports a client, the pools or
// the flags. Only the command line imports it.
package render
