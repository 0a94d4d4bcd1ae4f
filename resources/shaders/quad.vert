#version 460
// One rectangle of an element: four corners of a strip, on pixel boundaries, so that coverage is exact.
// What the fragment shader needs is the same for the whole rectangle; it takes the pixel from gl_FragCoord.

layout(push_constant) uniform Push {
    vec2 clip_per_px; // 2 / the target's size
} push;

layout(location = 0) in ivec4 rect_px;    // x, y, width, height on the target
layout(location = 1) in ivec4 place;      // x, y of the element's corner on the target; texture; axes change places
layout(location = 2) in vec4 map;         // texels per pixel, texel at the corner
layout(location = 3) in vec4 bounds;      // first and last texel centre that may be read
layout(location = 4) in vec4 color;       // premultiplied colour, or alpha four times

layout(location = 0) flat out ivec4 out_place;
layout(location = 1) flat out vec4 out_map;
layout(location = 2) flat out vec4 out_bounds;
layout(location = 3) flat out vec4 out_color;

void main() {
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    vec2 px = vec2(rect_px.xy) + corner * vec2(rect_px.zw);
    gl_Position = vec4(px * push.clip_per_px - 1.0, 0.0, 1.0);
    out_place = place;
    out_map = map;
    out_bounds = bounds;
    out_color = color;
}
