//! The words of the Wayland protocols that tests speak byte by byte: opcodes and codes, as the protocols' files number
//! them. Requests by their name; events end in `_EVENT`.

macro_rules! words {
    ($($interface:ident { $($word:ident = $value:literal),* $(,)? })*) => {
        $(pub(crate) mod $interface { $(pub(crate) const $word: u16 = $value;)* })*
    };
}

words! {
    wl_display { SYNC = 0, GET_REGISTRY = 1 }
    wl_registry { BIND = 0, GLOBAL_EVENT = 0 }
    wl_compositor { CREATE_SURFACE = 0, CREATE_REGION = 1 }
    wl_subcompositor { GET_SUBSURFACE = 1 }
    wl_subsurface { DESTROY = 0, SET_POSITION = 1, PLACE_ABOVE = 2, SET_SYNC = 4, SET_DESYNC = 5 }
    wl_surface {
        DESTROY = 0, ATTACH = 1, DAMAGE = 2, FRAME = 3, SET_OPAQUE_REGION = 4, SET_INPUT_REGION = 5, COMMIT = 6,
        SET_BUFFER_TRANSFORM = 7, SET_BUFFER_SCALE = 8, DAMAGE_BUFFER = 9, OFFSET = 10,
    }
    wl_region { DESTROY = 0, ADD = 1, SUBTRACT = 2 }
    wl_shm { CREATE_POOL = 0 }
    wl_shm_pool { CREATE_BUFFER = 0, DESTROY = 1, RESIZE = 2 }
    wl_buffer { DESTROY = 0, RELEASE_EVENT = 0 }
    wl_callback { DONE_EVENT = 0 }
    wl_seat { GET_POINTER = 0, GET_KEYBOARD = 1, GET_TOUCH = 2 }
    wl_pointer { SET_CURSOR = 0, RELEASE = 1, ENTER_EVENT = 0, LEAVE_EVENT = 1, BUTTON_EVENT = 3 }
    wl_keyboard { RELEASE = 0, ENTER_EVENT = 1, LEAVE_EVENT = 2, KEY_EVENT = 3 }
    wl_data_device_manager { CREATE_DATA_SOURCE = 0, GET_DATA_DEVICE = 1 }
    wl_data_source { OFFER = 0, DESTROY = 1, SET_ACTIONS = 2 }
    wl_data_device { START_DRAG = 0, SET_SELECTION = 1 }
    xdg_wm_base { CREATE_POSITIONER = 1, GET_XDG_SURFACE = 2, PONG = 3, PING_EVENT = 0 }
    xdg_positioner {
        DESTROY = 0, SET_SIZE = 1, SET_ANCHOR_RECT = 2, SET_ANCHOR = 3, SET_GRAVITY = 4, SET_CONSTRAINT_ADJUSTMENT = 5,
        SET_OFFSET = 6,
    }
    xdg_surface { DESTROY = 0, GET_TOPLEVEL = 1, GET_POPUP = 2, SET_WINDOW_GEOMETRY = 3, ACK_CONFIGURE = 4, CONFIGURE_EVENT = 0 }
    xdg_toplevel {
        DESTROY = 0, SET_PARENT = 1, SET_TITLE = 2, SET_APP_ID = 3, MOVE = 5, RESIZE = 6, SET_MAX_SIZE = 7, SET_MIN_SIZE = 8, SET_MAXIMIZED = 9,
        SET_FULLSCREEN = 11, SET_MINIMIZED = 13, CONFIGURE_EVENT = 0, CLOSE_EVENT = 1,
    }
    xdg_popup { DESTROY = 0, GRAB = 1 }
    xdg_activation_v1 { GET_ACTIVATION_TOKEN = 1, ACTIVATE = 2 }
    xdg_activation_token_v1 { COMMIT = 3, DONE_EVENT = 0 }
    wp_viewporter { GET_VIEWPORT = 1 }
    wp_viewport { SET_SOURCE = 1, SET_DESTINATION = 2 }
    wp_presentation { FEEDBACK = 1 }
    zwp_pointer_constraints_v1 { LOCK_POINTER = 1, CONFINE_POINTER = 2 }
    zwp_locked_pointer_v1 { DESTROY = 0 }
    zwlr_virtual_pointer_manager_v1 { CREATE_VIRTUAL_POINTER = 0 }
    zwlr_virtual_pointer_v1 { MOTION_ABSOLUTE = 1, BUTTON = 2, FRAME = 4 }
    zwlr_layer_shell_v1 { GET_LAYER_SURFACE = 0 }
    zwlr_layer_surface_v1 {
        SET_SIZE = 0, SET_ANCHOR = 1, SET_EXCLUSIVE_ZONE = 2, SET_MARGIN = 3, SET_KEYBOARD_INTERACTIVITY = 4, ACK_CONFIGURE = 6,
        CONFIGURE_EVENT = 0,
    }
}

/// Version of each global that tests speak, where the server has no lesser one.
pub(crate) const VERSIONS: [(&str, u32); 16] = [
    ("wl_compositor", 6),
    ("wl_subcompositor", 1),
    ("wl_shm", 1),
    ("wl_seat", 7),
    ("wl_output", 4),
    ("wl_data_device_manager", 3),
    ("xdg_wm_base", 6),
    ("xdg_activation_v1", 1),
    ("wp_viewporter", 1),
    ("wp_presentation", 1),
    ("wp_single_pixel_buffer_manager_v1", 1),
    ("zwp_pointer_constraints_v1", 1),
    ("zwlr_virtual_pointer_manager_v1", 1),
    ("zwlr_layer_shell_v1", 4),
    ("zwp_idle_inhibit_manager_v1", 1),
    ("zwp_virtual_keyboard_manager_v1", 1),
];

/// wl_shm.format.argb8888.
pub(crate) const ARGB8888: u32 = 0;
/// wl_shm.format.xrgb8888.
pub(crate) const XRGB8888: u32 = 1;
/// wl_shm.error.
pub(crate) const INVALID_FORMAT: u32 = 0;
/// wl_shm.error.
pub(crate) const INVALID_STRIDE: u32 = 1;
/// wl_shm.error.
pub(crate) const INVALID_FD: u32 = 2;
/// The left button, as evdev counts.
pub(crate) const LEFT: u32 = 0x110;
