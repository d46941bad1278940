// Package mustgather collects what helps to find out what is wrong with the Echo Operator and its Echoes. Secrets, values of environment
// variables, arguments, and bodies are left out.
package mustgather
