// Package render writes what a user of the command line sees of schedules: aligned tables, the sections of describe,
// events as lines, times both absolute and relative to now.
//
// Everything is a pure function of its arguments: the clock, the zone and whether to use colours are given. The output
// is for people; programs use the JSON and YAML of the API, which is not made here.
package render
