#version 460
// One premultiplied colour.

layout(location = 3) flat in vec4 color;

layout(location = 0) out vec4 target;

void main() {
    target = color;
}
